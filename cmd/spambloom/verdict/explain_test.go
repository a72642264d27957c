package verdict

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
)

// The text for a signature that is not listed names what hides its newest report.
func TestStanding(t *testing.T) {
	in := func(generations ...int64) (trails []api.Trail) {
		for _, g := range generations {
			trails = append(trails, api.Trail{Site: "mx1", Generation: g})
		}
		return trails
	}
	for _, c := range []struct {
		name  string
		trace api.Trace
		want  string
	}{
		{"nothing", api.Trace{}, "is not listed"},
		{"a revocation alone", api.Trace{Revoked: in(5)}, "is not listed"},
		{"reported again after a revocation", api.Trace{Listed: true, Spam: in(6, 5), Revoked: in(5)}, "is listed as spam: it was reported again after a revocation"},
		{"revoked in the same generation", api.Trace{Spam: in(5), Revoked: in(5)}, "was reported and revoked"},
		{"revoked in a later one", api.Trace{Spam: in(5, 4), Revoked: in(6)}, "was reported and revoked"},
		{"retouched", api.Trace{Spam: in(5)}, "was reported, and is hidden by a retouch"},
		{"revoked, reported again, retouched", api.Trace{Spam: in(6, 5), Revoked: in(5)}, "was reported, and is hidden by a retouch"},
	} {
		if got := standing(c.trace); got != c.want {
			t.Errorf("%s: it %s; want: it %s", c.name, got, c.want)
		}
	}
}
