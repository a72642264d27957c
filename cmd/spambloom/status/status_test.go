package status

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
)

// Damage and a jump of the clock have their own lines; a healthy daemon shows neither.
func TestStatusNamesDamageAndClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	healthy := statusText(api.Status{}, now, todayOnly)
	for _, word := range []string{"damaged", "clock"} {
		if strings.Contains(healthy, word) {
			t.Errorf("%q in the status of a healthy daemon:\n%s", word, healthy)
		}
	}
	for ahead, want := range map[float64]string{60 * 86400: "1440h0m0s ahead since", -7200: "2h0m0s behind since"} {
		text := statusText(api.Status{Database: bloomdb.Status{
			Damaged:  []bloomdb.DamagedFile{{Name: "own-7.votes.damaged", Cost: "votes"}},
			Previous: &bloomdb.Status{Damaged: []bloomdb.DamagedFile{{Name: "spam-7.mask.damaged", Cost: "retouched messages"}}},
			Clock:    &bloomdb.ClockStatus{Time: now, Ahead: ahead, Since: now, Believed: now.Add(24 * time.Hour)},
		}}, now, todayOnly)
		for _, want := range []string{want, "own-7.votes.damaged is not used; missing: votes", "spam-7.mask.damaged"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}

// A new site is named, with what it means and what ends it.
func TestStatusNamesNewSite(t *testing.T) {
	for _, isNew := range []bool{true, false} {
		text := statusText(api.Status{Database: bloomdb.Status{NewSite: isNew}}, time.Now(), todayOnly)
		if regexp.MustCompile(`(?m)^new site +nothing can be common yet, .*spambloom learn PATH$`).MatchString(text) != isNew {
			t.Errorf("new %v:\n%s", isNew, text)
		}
	}
}

// The details of filters put the chance of a site's false matches in words, as the list of sites
// does. A share of all of them would be 100 % at a site with few reports, which is no fault.
func TestStatusNamesFalseMatches(t *testing.T) {
	s := api.Status{Overview: &overview.Overview{}, Database: bloomdb.Status{Sites: []bloomdb.SiteStatus{{Site: "mx1"}, {Site: "mx2", Error: 4.3e-7, ErrorShare: 1}}}}
	text := statusText(s, time.Now(), withFilters)
	if !regexp.MustCompile(`(?m)^SITE +EPOCH +LAST DELTA +CELLS +FALSE MATCH +MISSED DELTAS\nmx1 +0 +0 +0 +none +0\nmx2 +0 +0 +0 +1 in 2.3 million +0$`).MatchString(text) {
		t.Errorf("no chances in\n%s", text)
	}
}

// During a change of the federation key, the status names the previous key, and until when it is
// needed.
func TestStatusNamesPreviousKey(t *testing.T) {
	until := time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)
	s := api.Status{Overview: &overview.Overview{}, Database: bloomdb.Status{Previous: &bloomdb.Status{KeyID: "00112233aabbccdd"}, PreviousUntil: &until}}
	if text := statusText(s, until, todayOnly); !regexp.MustCompile(`(?m)^previous key +00112233aabbccdd; remove previous_federation_key after 2026-12-31 00:00 UTC$`).MatchString(text) {
		t.Errorf("no previous key in\n%s", text)
	}
	if text := statusText(api.Status{Overview: &overview.Overview{}}, until, todayOnly); strings.Contains(text, "previous key") {
		t.Errorf("a previous key in\n%s", text)
	}
}

// The command offered for a site depends on its state, and on whether it publishes.
func TestNoticeOfSite(t *testing.T) {
	now := time.Now()
	lately, long := now.Add(-time.Second), now.Add(-time.Hour)
	for _, c := range []struct {
		site       api.Site
		kind, text string
	}{
		{api.Site{Site: "mx2", State: api.StateDropped, Link: &api.Link{Heard: &lately}}, "hint", "mx2 is dropped here, so its reports have no effect"},
		{api.Site{Site: "mx2", State: api.StateMuted, Link: &api.Link{Heard: &lately}}, "hint", "spambloom mute --undo mx2"},
		{api.Site{Site: "mx2", State: api.StateDropped, Link: &api.Link{Heard: &long}}, "hint", "remove its name here: spambloom mute --undo mx2"},
		{api.Site{Site: "mx2", State: api.StateDropped}, "hint", "delete its keys in Redis"},
		{api.Site{Site: "mx2", State: api.StateStale}, "warning", "spambloom drop mx2 && spambloom mute --undo mx2"},
		{api.Site{Site: "mx2", State: api.StateMuted}, "", ""},
		{api.Site{Site: "mx2", State: api.StateHeard, Link: &api.Link{Heard: &lately}}, "", ""},
	} {
		kind, text := siteNotice(c.site, now)
		if kind != c.kind || !strings.Contains(text, c.text) {
			t.Errorf("%s: %s %q, want %s %q", c.site.State, kind, text, c.kind, c.text)
		}
	}
}
