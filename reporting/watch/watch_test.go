package watch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/overview"
	"github.com/spambloom/spambloom/reporting/watch"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// healthy returns the facts of a site with two others, of which nothing needs anybody.
func healthy() watch.Facts {
	heard := now.Add(-4 * time.Second)
	earlier := now.Add(-6 * time.Second)
	return watch.Facts{
		Status: api.Status{Database: bloomdb.Status{Site: "mx1", ErrorPerMail: 3e-7}},
		Sites: []api.Site{
			{Site: "mx1", State: api.StateSelf},
			{Site: "mx2", State: api.StateHeard, Link: &api.Link{Heard: &earlier}},
			{Site: "mx3", State: api.StateLoading, Link: &api.Link{Heard: &heard}},
			{Site: "mx4", State: api.StateMuted},
		},
		Exchange: true, Connected: true,
		LastDay: map[string]uint64{"clean": 1}, DayBefore: map[string]uint64{},
		Started: now.Add(-48 * time.Hour), TargetError: 1e-6,
	}
}

// Each fact that needs somebody is named with a command, and no site is ok with one.
func TestNeeds(t *testing.T) {
	since := now.Add(-26 * time.Hour)
	kinds := map[string]bool{}
	for want, change := range map[string]func(*watch.Facts){
		"fault: Mail is not judged: suspended":             func(f *watch.Facts) { f.Judging = "suspended" },
		"fault: Reports cannot be written: disk full":      func(f *watch.Facts) { f.Status.Database.Error = "disk full" },
		"fault: Reports cannot be written: ledger":         func(f *watch.Facts) { f.Status.Reports = ledger.Status{Error: "ledger"} },
		"attention: No connection to Redis: refused. Mail": func(f *watch.Facts) { f.Connected, f.LastError = false, "refused" },
		"attention: Redis has lost data: the stream was shorter; no command is needed. Mail is judged": func(f *watch.Facts) {
			f.Connected, f.Cause, f.LastError = false, "lost", "lost: the stream was shorter; no command is needed"
		},
		"attention: Redis has no memory left: OOM. Mail": func(f *watch.Facts) { f.Connected, f.Cause, f.LastError = false, "memory", "memory: OOM" },
		"attention: No connection to Redis: refused by the host. Mail": func(f *watch.Facts) {
			f.Connected, f.Cause, f.LastError = false, "unreachable", "unreachable: refused by the host"
		},
		"fault: the control socket is full":                                         func(f *watch.Facts) { f.LockedOut = "the control socket is full" },
		"attention: The configuration file is not in use: line 3. The daemon":       func(f *watch.Facts) { f.Reload = "line 3" },
		"attention: 127.0.0.1:8898 (http.listen) was in use by another program":     func(f *watch.Facts) { f.Unserved = []string{"127.0.0.1:8898 (http.listen)"} },
		"attention: mx7 uses this Redis with another federation key.":               func(f *watch.Facts) { f.Notes = []string{"mx7 uses this Redis with another federation key"} },
		"attention: mx2 has not been heard since 2026-11-2":                         func(f *watch.Facts) { f.Sites[1].State, f.Sites[1].Heard = api.StateSilent, &since },
		"attention: mx4 has not been heard since the start":                         func(f *watch.Facts) { f.Sites[3].State = api.StateSilent },
		"attention: mx2 runs on an older state folder":                              func(f *watch.Facts) { f.Sites[1].State = api.StateStale },
		"attention: The clock of mx2 is off by -2.0 h":                              func(f *watch.Facts) { f.Sites[1].State, f.Sites[1].SkewSeconds = api.StateClock, -7200 },
		"attention: Some reports of mx2 are missing here: its records have 2 gaps.": func(f *watch.Facts) { f.Sites[1].Gaps = 2 },
		"attention: mx2 is over its cap":                                            func(f *watch.Facts) { f.Sites[1].State = api.StateCapped },
		"attention: The filters are too full: about one mail in 100,000 is":         func(f *watch.Facts) { f.Status.Database.ErrorPerMail = 1e-5 },
		"attention: The filter \"spam\" is full: what does not fit": func(f *watch.Facts) {
			if err := json.Unmarshal([]byte(`{"filters": [{"kind": "spam", "full": true}, {"kind": "revoked"}]}`), &f.Status.Database); err != nil {
				t.Error(err)
			}
		},
		"attention: The ledger of reports is full": func(f *watch.Facts) { f.Status.Reports.Full = true },
		"attention: reports.db was damaged, missing or an older copy. It was repaired, and is used;": func(f *watch.Facts) {
			f.Status.Database.Damaged = []bloomdb.DamagedFile{{Name: "reports.db.damaged", Cost: "some reporters"}}
		},
		"attention: own-7.votes.damaged is damaged": func(f *watch.Facts) {
			f.Status.Database.Previous = &bloomdb.Status{Damaged: []bloomdb.DamagedFile{{Name: "own-7.votes.damaged", Cost: "votes"}}}
		},
		"attention: The clock jumped by 1h0m0s": func(f *watch.Facts) { f.Status.Database.Clock = &bloomdb.ClockStatus{Ahead: 3600} },
		"attention: Mail in the trap lure is not read: rename 1; - 2?[2J: no folder.": func(f *watch.Facts) {
			f.Traps = map[string]string{"lure": "rename 1\n- 2\x1b[2J: no folder", "bait": ""}
		},
		"attention: Your users disagree about a message: 1 report, 2 revocations. It is called spam now. The message is text:1.": func(f *watch.Facts) {
			f.Contested = []watch.Contested{{ID: "text:1", Reports: 1, Revocations: 2, Listed: true}}
		},
		"attention: uid:1000 was refused":                                 func(f *watch.Facts) { f.Lockouts = []string{"uid:1000 was refused"} },
		"attention: Snapshots of the filters cannot be written: no space": func(f *watch.Facts) { f.Unsaved = errors.New("no space") },
		"attention: Counts by hour are not kept: no space":                func(f *watch.Facts) { f.History = errors.New("no space") },
		"attention: history/2026-11.counts.damaged is":                    func(f *watch.Facts) { f.Damaged = []string{"2026-11.counts.damaged"} },
		"attention: No mail has arrived for 24 hours":                     func(f *watch.Facts) { f.LastDay = map[string]uint64{"reports": 3} },
	} {
		f := healthy()
		change(&f)
		o := watch.Make(f, now)
		state, text, _ := strings.Cut(want, ": ")
		if o.State != state || len(o.Needs) != 1 || !strings.HasPrefix(o.Needs[0].Text, text) || o.Needs[0].Command == "" && text[0] != 'u' {
			t.Errorf("want %q: %s %+v", want, o.State, o.Needs)
		}
		for _, n := range o.Needs {
			if strings.Contains(n.Text+n.Command, "FILE") || strings.Contains(n.Command, "STATE") {
				t.Errorf("%q is no command that can be typed", n.Command)
			}
			if strings.HasPrefix(n.Command, "journalctl") && n.Command != "journalctl -u spambloom" { // as contrib/spambloom.service
				t.Errorf("%q: there is no such unit", n.Command)
			}
		}
		if !strings.HasSuffix(o.Sentence, " One thing needs you.") {
			t.Errorf("%s: %q", want, o.Sentence)
		}
		kinds[o.Needs[0].Kind] = true
	}
	for _, n := range figures.Needs {
		if !kinds[n.Key] {
			t.Errorf("%s is in the table, and nothing needs it", n.Key)
		}
		delete(kinds, n.Key)
	}
	if len(kinds) > 0 {
		t.Errorf("not in the table: %v", kinds)
	}
}

// things counts what needs somebody.
func things(needs []overview.Need) (n int) {
	for _, need := range needs {
		n += need.Count
	}
	return n
}

// If many messages are contested, the first screen names a few and counts the others.
func TestManyContested(t *testing.T) {
	f := healthy()
	f.Contested = make([]watch.Contested, 40)
	needs := watch.Make(f, now).Needs
	if len(needs) != 4 || things(needs) != 40 || needs[3].Text != "Also contested or held: 37 messages." || needs[3].Page != "/campaigns?only=contested" {
		t.Errorf("%d needs: %+v", len(needs), needs)
	}
}

func TestSentence(t *testing.T) {
	for want, change := range map[string]func(*watch.Facts){
		"Judging. 2 of 2 sites heard, the last 4 s ago. Nothing needs you.": func(*watch.Facts) {},
		"Judging. This site works alone. Nothing needs you.":                func(f *watch.Facts) { f.Exchange, f.Sites = false, f.Sites[:1] },
		"Judging. No other site is in use; muted or dropped: 1 site. Nothing needs you.": func(f *watch.Facts) {
			f.Sites = []api.Site{f.Sites[0], {Site: "mx2", State: api.StateDropped}}
		},
		"Judging. No other site is known yet. Nothing needs you.": func(f *watch.Facts) { f.Sites = f.Sites[:1] },
		"Judging. No other site is heard; the last one was 26 h ago. 2 things need you.": func(f *watch.Facts) {
			long := now.Add(-26 * time.Hour)
			f.Sites = f.Sites[:3]
			for i := range f.Sites[1:] {
				f.Sites[1+i].State, f.Sites[1+i].Link = api.StateSilent, &api.Link{Heard: &long}
			}
		},
		"Judging. The other site has not been heard. One thing needs you.": func(f *watch.Facts) {
			f.Sites = []api.Site{f.Sites[0], {Site: "mx2", State: api.StateSilent}}
		},
		"Mail passes unchecked. 1 of 2 sites heard, the last 4 s ago. 2 things need you.": func(f *watch.Facts) { f.Judging, f.Sites[1].State = "suspended", api.StateSilent },
	} {
		f := healthy()
		change(&f)
		o := watch.Make(f, now)
		if o.Sentence != want {
			t.Errorf("%q, want %q", o.Sentence, want)
		}
		if f.Judging != "" && !o.Needs[0].IsFault {
			t.Errorf("the fault is not first: %+v", o.Needs)
		}
	}
}

// For a minute after the start, and after the first news of a site, nothing is missing: Redis is
// being connected, and the site may still be heard.
func TestSettling(t *testing.T) {
	for want, change := range map[string]func(*watch.Facts){
		"Judging. Connecting to Redis. Nothing needs you.": func(f *watch.Facts) {
			f.Started, f.Connected, f.Connecting, f.LastError = now.Add(-2*time.Second), false, true, "not connected yet"
			f.Sites = []api.Site{f.Sites[0], {Site: "mx2", State: api.StateSilent}}
		},
		"Judging. The other site has not been heard. Nothing needs you.": func(f *watch.Facts) {
			f.Sites = []api.Site{f.Sites[0], {Site: "mx2", State: api.StateSilent, Link: &api.Link{Known: now.Add(-2 * time.Second)}}}
		},
		"Judging. The other site has not been heard. One thing needs you.": func(f *watch.Facts) {
			f.Sites = []api.Site{f.Sites[0], {Site: "mx2", State: api.StateSilent, Link: &api.Link{Known: now.Add(-watch.Settling)}}}
		},
	} {
		f := healthy()
		change(&f)
		if o := watch.Make(f, now); o.Sentence != want {
			t.Errorf("%q, want %q", o.Sentence, want)
		}
	}
}

// A holder of the federation key publishes under a thousand names, and then falls silent. The
// overview, /readyz and the page name eight, and count the others.
func TestManySilentSites(t *testing.T) {
	sites := make([]api.Site, 1000)
	for i := range sites {
		sites[i].Site, sites[i].State = fmt.Sprintf("fake%d", i), api.StateSilent
	}
	needs := watch.SiteNeeds(sites, now.Add(-time.Hour), now)
	if len(needs) != 9 || things(needs) != 1000 || needs[8].Text != "992 other sites need attention as well." {
		t.Errorf("%d needs, the last is %+v", len(needs), needs[len(needs)-1])
	}
	if needs = watch.SiteNeeds(sites[:8], now.Add(-time.Hour), now); len(needs) != 8 {
		t.Errorf("of 8 sites: %d needs", len(needs))
	}
}
