package main

import (
	"testing"

	"github.com/spambloom/spambloom/reporting"
)

// The text for a signature that is not listed names what hides its newest report.
func TestStanding(t *testing.T) {
	in := func(generations ...int64) (trails []reporting.Trail) {
		for _, g := range generations {
			trails = append(trails, reporting.Trail{Site: "mx1", Generation: g})
		}
		return trails
	}
	for _, c := range []struct {
		name  string
		trace reporting.Trace
		want  string
	}{
		{"nothing", reporting.Trace{}, "is not listed"},
		{"a revocation alone", reporting.Trace{Revoked: in(5)}, "is not listed"},
		{"reported again after a revocation", reporting.Trace{Listed: true, Spam: in(6, 5), Revoked: in(5)}, "is listed as spam"},
		{"revoked in the same generation", reporting.Trace{Spam: in(5), Revoked: in(5)}, "was reported and revoked"},
		{"revoked in a later one", reporting.Trace{Spam: in(5, 4), Revoked: in(6)}, "was reported and revoked"},
		{"retouched", reporting.Trace{Spam: in(5)}, "was reported, and is hidden by a retouch"},
		{"revoked, reported again, retouched", reporting.Trace{Spam: in(6, 5), Revoked: in(5)}, "was reported, and is hidden by a retouch"},
	} {
		if got := standing(c.trace); got != c.want {
			t.Errorf("%s: it %s; want: it %s", c.name, got, c.want)
		}
	}
}
