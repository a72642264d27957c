package main

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/reporting/watch"
)

// The overview has words for each cause of a fault at which Redis is connected, and for no other.
func TestCausesAtRedis(t *testing.T) {
	connected := []link.Cause{link.Rights, link.Memory, link.Disk, link.Loading, link.Busy, link.Replica, link.Lost}
	for _, c := range connected {
		if watch.CausesAtRedis[string(c)] == "" {
			t.Errorf("no words for %q", c)
		}
	}
	for c := range watch.CausesAtRedis {
		if !slices.Contains(connected, link.Cause(c)) {
			t.Errorf("words for %q, at which Redis is not connected", c)
		}
	}
}
