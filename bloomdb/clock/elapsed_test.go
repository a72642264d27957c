package clock_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
)

// The system's clock since boot advances as fast as time does.
func TestSinceBoot(t *testing.T) {
	elapsed, before := clock.NewElapsed(clock.SinceBoot), time.Now()
	time.Sleep(time.Millisecond)
	if took := elapsed(); took < time.Millisecond || took > time.Since(before)+time.Minute {
		t.Errorf("%s have passed", took)
	}
	if a, b := clock.SinceBoot(), clock.SinceBoot(); b < a {
		t.Errorf("%s after %s", b, a)
	}
}
