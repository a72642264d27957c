// Package pagetest makes sites for tests of the page and for its pictures: an empty one, a
// small one and a busy one, each a desk with ledger and database, a history, and the page
// before them. The mail is made or taken from an archive; the days before are made.
package pagetest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/history"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/page"
	"github.com/spambloom/spambloom/reporting/server"
	"github.com/spambloom/spambloom/reporting/watch"
	"github.com/spambloom/spambloom/signature"
)

// Site is a site with a page.
type Site struct {
	*desktest.Stage
	Sessions *page.Sessions
	Handler  http.Handler
	Access   *server.Access

	Tokens   map[string]string      // clients of the control API, by token
	Alias    func(string) string    // pseudonyms; nil: none
	Links    []api.Link             // the exchange; nil: the site is alone
	fault    atomic.Pointer[string] // why mail is not judged
	Asked    atomic.Int64           // number of times that the page asked for the status
	judged   *judged.List
	listed   *judged.Hashes
	history  *history.History
	counters map[string]float64
	at       time.Time
	now      func() time.Time
	broken   func(*watch.Facts) // nil: nothing is
	states   map[string]string  // of other sites, by name; of the rest those that their links have
}

// Root is the user of uid 0, who administrates.
var Root = desk.Origin{UID: 0, GID: 0, PID: 1, Known: true}

// Now is the time of every site: noon in UTC, of the clock of desktest.
var Now = desktest.Noon.Add(37 * time.Minute)

// New returns an empty site that works alone.
func New(t testing.TB) *Site {
	return newSite(t, desktest.New(t, desktest.TwoNeeded, 0), desk.Options{HoldFrom: 100})
}

func newSite(t testing.TB, stage *desktest.Stage, o desk.Options) *Site {
	s := &Site{Stage: stage, Sessions: &page.Sessions{}, counters: map[string]float64{}}
	s.Clock.Store(Now.Unix())
	s.now = func() time.Time { return time.Unix(s.Clock.Load(), 0).UTC() }
	s.Sessions.Now = s.now
	s.judged = judged.New(Now.Add(-12*24*time.Hour), 1<<20)
	if s.Unlisted == nil {
		s.Unlisted = judged.NewHashes(1 << 20)
	}
	s.listed = judged.NewHashes(1 << 20)
	o.Judged, o.Listed, o.Unlisted = s.judged, s.listed, s.Unlisted
	s.Clock.Store(Now.Add(-12 * 24 * time.Hour).Unix()) // the start of the daemon
	s.Desk = desk.New(s.DB, s.Ledger, o)
	s.Clock.Store(Now.Unix())
	s.history = history.Open(history.Options{
		Dir:  filepath.Join(t.TempDir(), "history"),
		Read: func() (map[string]float64, error) { return maps.Clone(s.counters), nil },
		Now:  func() time.Time { return s.at },
	})
	s.Access = server.NewAccess(server.AccessOptions{DaemonUID: 990})
	s.Handler = page.New(page.Options{
		Site: "mx1", Version: "spambloomd 1.0.0",
		Status: s.status, Sites: s.sites,
		Hours: s.history.Hours, Campaigns: s.Campaigns, Courses: s.Courses, Judged: s.judged.Find,
		Control:  server.NewHandler(s.Desk, server.HandlerOptions{Decide: desktest.Decide, Access: s.Access, Sites: s.sites}),
		Sessions: s.Sessions, SignIn: s.signIn, HasTokens: func() bool { return len(s.Tokens) > 0 },
		Alias: s.alias, Sign: signature.Compute, MaxMessage: func() int64 { return 1 << 20 },
		Now: s.now,
	})
	return s
}

// sites returns the sites as the desk sees them, heard some seconds ago by the clock of the
// stage. The desk itself compares with the time of the machine.
func (s *Site) sites() []api.Site {
	links := slices.Clone(s.Links)
	for i := range links {
		at := time.Now()
		links[i].Heard = &at
	}
	list := s.Stage.Sites(links)
	for i, site := range list {
		if site.Link == nil {
			continue
		}
		at := s.now().Add(-time.Duration(1+3*i) * time.Second)
		if s.broken != nil {
			at, list[i].State = at.Add(-26*time.Hour), api.StateSilent
		}
		if state := s.states[site.Site]; state != "" {
			list[i].State = state
		}
		list[i].Heard = &at
	}
	return list
}

// signIn does what server.Remote does with a token.
func (s *Site) signIn(token string, _ net.Addr) (client string, holds func() bool, err error) {
	if client = s.Tokens[token]; client == "" {
		return "", nil, api.NewProblem(http.StatusForbidden, "the token is none of those that are let in")
	}
	return client, func() bool { return s.Tokens[token] == client }, nil
}

func (s *Site) alias(domain string) string {
	if s.Alias == nil {
		return domain
	}
	return s.Alias(domain)
}

func (s *Site) status() (api.Status, error) {
	s.Asked.Add(1)
	status, err := s.Status()
	if err != nil {
		return status, err
	}
	now := s.now()
	day := now.Truncate(time.Hour).Add(-23 * time.Hour)
	contested, err := s.ContestedCampaigns()
	if err != nil {
		return status, err
	}
	var facts []watch.Contested
	for _, c := range contested {
		facts = append(facts, watch.Contested{ID: c.ID, Reports: c.Reports, Revocations: c.Revocations, Listed: c.Listed, Held: c.Held, Mails: c.Like.Mails})
	}
	f := watch.Facts{
		Contested: facts,
		Status:    status, Sites: s.sites(), Judging: s.judging(), Exchange: s.Links != nil, Connected: true,
		LastDay: history.Sum(s.history.Hours(day, now)), DayBefore: history.Sum(s.history.Hours(day.Add(-24*time.Hour), day)),
		Started: now.Add(-12 * 24 * time.Hour), TargetError: 1e-6,
	}
	if s.broken != nil {
		s.broken(&f)
		status = f.Status
	}
	status.Overview = watch.Make(f, now)
	status.Overview.Resident, status.Overview.MostMemory = 212<<20, 395<<20
	return status, nil
}

// SetFault makes the site one that judges no mail, and why.
func (s *Site) SetFault(why string) { s.fault.Store(&why) }

func (s *Site) judging() string {
	if why := s.fault.Load(); why != nil {
		return *why
	}
	return ""
}

// Break makes the site one on which everything is wrong that can be: mail is not judged, reports
// are not written, Redis is away, no other site is heard, and files are damaged.
func (s *Site) Break() *Site {
	s.SetFault("signing messages has stopped, 12 of 12 turns are taken; mail passes unchecked")
	s.broken = func(f *watch.Facts) {
		f.Connected, f.LastError = false, "dial tcp 192.0.2.7:6379: connect: connection refused"
		f.Status.Reports.Error = "write /var/lib/spambloom/reports.db: no space left on device"
		f.Status.Reports.Full = true
		f.Reload = "/etc/spambloom/spambloom.toml:31: milter.lissten: unknown key; allowed: listen, local_networks"
		f.Damaged = []string{"2026-11.counts.damaged"}
		f.Traps = map[string]string{"lure": "open /var/mail/lure/new: permission denied"}
		f.Config, f.Folder = "/etc/spambloom/spambloom.toml", "/var/lib/spambloom"
		overfill(&f.Status.Database)
	}
	return s
}

// Ill makes the site one that hears others of which each needs somebody for another reason.
func (s *Site) Ill() *Site {
	s.Busy()
	s.states = map[string]string{"mx2": api.StateStale, "uni-north": api.StateCapped}
	s.Links = append(s.Links, api.Link{Site: "mail.example.org", SkewSeconds: -7200, Clock: true}, api.Link{Site: "mx5"})
	s.states["mail.example.org"], s.states["mx5"] = api.StateClock, api.StateLoading
	return s
}

// overfill makes the newest filter of reports one that is far too full.
func overfill(db *bloomdb.Status) {
	db.Filters = slices.Clone(db.Filters)
	db.ErrorPerMail = 0
	for i := range db.Filters {
		f := &db.Filters[i]
		if f.Kind == "spam" {
			f.Fill, f.Error, f.PerMail = 0.22, 5e-6, 4e-5
		}
		db.ErrorPerMail += f.PerMail
	}
}

// Restrict closes the control socket to all but administrators.
func (s *Site) Restrict() {
	s.Access.Reload(server.AccessOptions{Group: "nobody", GID: -1, DaemonUID: 990})
}

// Count adds to counters in the hour of a time.
func (s *Site) Count(at time.Time, counts map[string]uint64) {
	s.at = at
	for key, n := range counts {
		s.counters[key] += float64(n)
	}
	s.history.Take()
}

// Empty leaves the site as it is.
func (s *Site) Empty() *Site { return s }

// Small makes the site one with a few messages and one report.
func (s *Site) Small() *Site {
	for hour := range 30 {
		s.Count(Now.Add(-time.Duration(hour)*time.Hour), map[string]uint64{figures.Clean: uint64(hour % 4), figures.Spam: uint64(hour % 3 / 2)})
	}
	s.MustReport("anna", desktest.Letter(1, 0))
	s.Judge(Now.Add(-time.Hour), "4fXk2T0001z", "clean", desktest.Letter(1, 0))
	if err := s.DB.Count(desktest.Letter(1, 0), 1); err != nil {
		panic(err) // a test's fixture
	}
	return s
}

// Judge adds a message to those that were judged lately.
func (s *Site) Judge(at time.Time, queueID, verdict string, set signature.Set) {
	s.judgeFrom(0, at, queueID, verdict, set)
}

func (s *Site) judgeFrom(sender uint64, at time.Time, queueID, verdict string, set signature.Set) {
	seen := judged.Seen{At: at, Sender: sender, Copies: 1, Set: set}
	for _, sketch := range set.Sketches {
		seen.Anchors = append(seen.Anchors, s.DB.Anchors(sketch))
	}
	if verdict == figures.Spam {
		s.listed.Add(seen)
	} else {
		s.Unlisted.Add(seen)
	}
	s.judged.Add(judged.Message{At: at, QueueID: queueID, Verdict: verdict, Shown: set.Counting, Set: set})
}

// Spare adds a message that only its sender's domain kept from being spam.
func (s *Site) Spare(at time.Time, queueID, domain string, set signature.Set) {
	s.judged.Add(judged.Message{At: at, QueueID: queueID, Verdict: figures.Clean, Spared: domain, Shown: set.Counting, Set: set})
}

// Busy makes the site one of a federation of four, with two months of mail, campaigns and
// several reporters. Its figures are the same in every run.
func (s *Site) Busy() *Site {
	r := rand.New(rand.NewPCG(22, 22))
	s.Links = []api.Link{
		{Site: "mx2", Votes: 3}, {Site: "mx3", Lag: 1, LagSeconds: 2, Gaps: 1, Refused: map[string]int64{"replayed": 2}},
		{Site: "uni-north", Votes: 9},
	}
	for hours := 60 * 24; hours >= 0; hours-- {
		at := Now.Add(-time.Duration(hours) * time.Hour)
		// Working hours and days have more mail; spam comes in waves.
		shape := 0.35 + 0.65*math.Max(0, math.Sin(float64(at.Hour()-5)/24*2*math.Pi))
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			shape *= 0.45
		}
		clean := uint64(800*shape) + r.Uint64N(90)
		bulk, spam := clean/14+r.Uint64N(12), uint64(55+35*math.Sin(float64(hours)/31))+r.Uint64N(60)
		others := spam * 64 / 100
		s.Count(at, map[string]uint64{
			figures.Clean: clean, figures.Bulk: bulk, figures.Spam: spam, figures.SpamOthers: others,
			figures.FromSite + ":mx2": others * 3 / 4, figures.FromSite + ":mx3": others / 4,
			figures.Skipped: 9, "skipped_authenticated": 8, "skipped_little": 1, figures.Reports: uint64(hours % 2), figures.Listed: uint64(hours % 3 / 2),
		})
	}
	s.at = Now
	reporters := []string{"anna", "bert", "trap:lure", "carla@example.org", "dora", "emil"}
	classes := []bloomdb.Class{bloomdb.ClassPhish, bloomdb.ClassScam, bloomdb.ClassOther, bloomdb.ClassPhish, bloomdb.ClassMalware}
	for campaign := range 24 {
		s.Clock.Store(Now.Add(-time.Duration(24-campaign) * 47 * time.Minute).Unix())
		for copy := range 1 + campaign%4 {
			set := desktest.Letter(campaign, copy)
			for who := range 1 + campaign%3 {
				name := reporters[(campaign+who)%len(reporters)]
				report := desk.Report{Set: set, Reporter: name, Class: classes[campaign%len(classes)], Trap: desk.IsTrap(name), Trusted: true}
				if _, err := s.Report(report); err != nil {
					panic(fmt.Sprintf("campaign %d: %v", campaign, err)) // a test's fixture
				}
			}
			if err := s.DB.Count(set, uint32(3+r.IntN(220))); err != nil {
				panic(err)
			}
		}
	}
	s.MustRevoke("anna", desktest.Letter(22, 0))
	s.Administrate()
	for i := range 400 {
		campaign := i * i % 61
		set, verdict := desktest.Letter(campaign, i%3), "clean"
		if s.DB.Judge(set).Listed {
			verdict = "spam"
		} else if campaign%7 == 0 {
			verdict = "bulk"
		}
		s.Judge(Now.Add(-time.Duration(400-i)*19*time.Second), fmt.Sprintf("4fXk2T%04xz", i*2654%65521), verdict, set)
	}
	s.Clock.Store(Now.Unix())
	return s
}

// Administrate declares a message that nobody sends never spam, and takes that back.
func (s *Site) Administrate() {
	r := desk.Report{Set: desktest.Letter(99, 0), Reporter: "root", Origin: Root}
	if _, err := s.Never(r, "newsletter of the chess club, ordered by the board"); err != nil {
		panic(err) // a test's fixture
	}
	if _, err := s.RemoveNever(r, ""); err != nil {
		panic(err)
	}
}

// Link returns the path that signs a user in.
func (s *Site) Link(name string, origin desk.Origin) string {
	return "/enter?key=" + s.Sessions.NewLink(name, origin)
}
