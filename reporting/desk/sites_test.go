package desk

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
)

// A site's state is the gravest one that applies.
func TestSiteState(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	lately, long := now.Add(-time.Second), now.Add(-2*time.Minute)
	for want, s := range map[string]site{
		api.StateDropped: {Site: api.Site{Trust: "none", Link: &api.Link{Clock: true}}, dropped: true, muted: true},
		api.StateMuted:   {Site: api.Site{Trust: "full"}, muted: true, capped: true},
		api.StateIgnored: {Site: api.Site{Trust: "none", Link: &api.Link{Heard: &lately, Clock: true}}},
		api.StateClock:   {Site: api.Site{Trust: "vote", Link: &api.Link{Heard: &lately, Clock: true, Stale: true}}, capped: true},
		api.StateStale:   {Site: api.Site{Trust: "full", Link: &api.Link{Heard: &lately, Stale: true, ChunksOf: 3}}, capped: true},
		api.StateCapped:  {Site: api.Site{Trust: "full", Link: &api.Link{Heard: &lately, ChunksOf: 3}}, capped: true},
		api.StateLoading: {Site: api.Site{Trust: "full", Link: &api.Link{Heard: &long, ChunksOf: 3}}},
		api.StateSilent:  {Site: api.Site{Trust: "full", Link: &api.Link{Heard: &long}}},
		api.StateHeard:   {Site: api.Site{Trust: "full", Link: &api.Link{Heard: &lately}}},
	} {
		if got := s.state(now); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	restored := site{Site: api.Site{Trust: "full", Link: &api.Link{Heard: &lately, Lag: 4}}}
	if got := restored.state(now); got != api.StateLoading {
		t.Errorf("a site that was dropped, and of which nothing is read again yet: %s", got)
	}
	restored.Lives = 1
	if got := restored.state(now); got != api.StateHeard {
		t.Errorf("a site with data and a lag: %s", got)
	}
	if got := (&site{Site: api.Site{Trust: "full", Link: &api.Link{}}}).state(now); got != api.StateSilent {
		t.Errorf("a site without data: %s", got)
	}
}
