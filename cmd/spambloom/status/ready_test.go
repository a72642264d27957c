package status

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
)

// A daemon is ready if mail is judged, reports are written and Redis answers, if there is one.
// A need that is no fault leaves it ready.
func TestUnready(t *testing.T) {
	needs := func(list ...overview.Need) *overview.Overview { return &overview.Overview{Needs: list} }
	fault := overview.Need{Text: "Mail is not judged: disk.", IsFault: true}
	for _, c := range []struct {
		overview *overview.Overview
		daemon   string
		want     []string
	}{
		{nil, `{}`, nil},
		{needs(overview.Need{Text: "A site is silent."}), `{}`, nil},
		{needs(fault), `{}`, []string{"Mail is not judged: disk"}},
		{needs(), `{"exchange": {"connected": true, "last_error": "refused"}}`, nil},
		{needs(), `{"exchange": {"connected": false, "last_error": "refused"}}`, []string{"Redis is not connected: refused"}},
		{needs(fault), `{"exchange": {"connected": false}}`, []string{"Mail is not judged: disk", "Redis is not connected"}},
	} {
		if got := unready(api.Status{Overview: c.overview, Daemon: json.RawMessage(c.daemon)}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.daemon, got, c.want)
		}
	}
}
