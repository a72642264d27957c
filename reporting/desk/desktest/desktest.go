// Package desktest opens desks for tests: a small database and a ledger, a clock that the
// test moves, and messages to report.
package desktest

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// Noon is the time of a Stage at its start, and that of a database with Options.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TwoNeeded is a model in which two reporters make a quorum.
var TwoNeeded = trust.Model{Quorum: 2, Newcomer: 1, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}

// Options returns those of a small database whose clock stands still.
func Options(dir string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: "mx1", Key: [32]byte{1},
		Reports: bloomdb.ReportOptions{Capacity: 1000, Classes: true},
		Counts:  bloomdb.CountOptions{Capacity: 1000, Burst: 10 * time.Minute},
		Now:     func() time.Time { return Noon },
	}
}

// OpenDB opens a small database whose clock stands still. The test closes it.
func OpenDB(t testing.TB) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(Options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// OpenLedger opens a ledger until the test's end.
func OpenLedger(t testing.TB, m trust.Model) *ledger.Ledger {
	t.Helper()
	return openLedger(t, filepath.Join(t.TempDir(), "reports.db"), m)
}

func openLedger(t testing.TB, path string, m trust.Model) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(ledger.Options{Path: path, Model: m, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, ledger.ErrClosed) {
			t.Error(err)
		}
	})
	return l
}

// Stage is a desk with its database and ledger.
type Stage struct {
	*desk.Desk
	DB     *bloomdb.DB
	Ledger *ledger.Ledger

	Unlisted *judged.Hashes // of OpenHolding

	Clock atomic.Int64 // Unix seconds; the test may change it unless it has opened the database

	t       testing.TB
	options bloomdb.Options
	model   trust.Model
	path    string // of the ledger
	desk    desk.Options
}

// New opens a desk until the test's end. The clock begins at Noon.
func New(t testing.TB, m trust.Model, maxHour int) *Stage {
	t.Helper()
	s := &Stage{}
	s.Clock.Store(Noon.Unix())
	o := Options(t.TempDir())
	o.Now = func() time.Time { return time.Unix(s.Clock.Load(), 0).UTC() }
	return s.open(t, o, m, maxHour)
}

// Open opens a desk with a database of these options until the test's end.
func Open(t testing.TB, o bloomdb.Options, m trust.Model) *Stage {
	t.Helper()
	return new(Stage).open(t, o, m, 0)
}

// OpenJoined opens the desk of a site that is joined to others until the test's end.
func OpenJoined(t testing.TB, o bloomdb.Options, m trust.Model) *Stage {
	t.Helper()
	s := &Stage{desk: desk.Options{Joined: true}}
	s.Clock.Store(Noon.Unix())
	o.Now = func() time.Time { return time.Unix(s.Clock.Load(), 0).UTC() }
	return s.open(t, o, m, 0)
}

// OpenHolding opens a desk that holds reports which hit so many unreported mails, until the
// test's end.
func OpenHolding(t testing.TB, m trust.Model, from uint64) *Stage {
	t.Helper()
	s := &Stage{Unlisted: judged.NewHashes(1 << 20), desk: desk.Options{HoldFrom: from}}
	s.desk.Unlisted = s.Unlisted
	s.Clock.Store(Noon.Unix())
	o := Options(t.TempDir())
	o.Now = func() time.Time { return time.Unix(s.Clock.Load(), 0).UTC() }
	return s.open(t, o, m, 0)
}

// Deliver counts a message of a sender, as the milter does.
func (s *Stage) Deliver(sender uint64, copies uint32, set signature.Set) {
	s.t.Helper()
	s.deliver(judged.Seen{Sender: sender, Copies: copies, Set: set})
}

// DeliverKnown is Deliver for a proven sender that the site knows.
func (s *Stage) DeliverKnown(sender uint64, copies uint32, set signature.Set) {
	s.t.Helper()
	s.deliver(judged.Seen{Sender: sender, Copies: copies, Set: set, Known: true})
}

func (s *Stage) deliver(m judged.Seen) {
	s.t.Helper()
	if err := s.DB.Count(m.Set, m.Copies); err != nil {
		s.t.Fatal(err)
	}
	m.At = s.DB.Now()
	for _, sketch := range m.Set.Sketches {
		m.Anchors = append(m.Anchors, s.DB.Anchors(sketch))
	}
	s.Unlisted.Add(m)
}

func (s *Stage) open(t testing.TB, o bloomdb.Options, m trust.Model, maxHour int) *Stage {
	t.Helper()
	s.t, s.options, s.model, s.path = t, o, m, filepath.Join(t.TempDir(), "reports.db")
	s.desk.MaxHour = maxHour
	s.start()
	t.Cleanup(func() {
		if err := errors.Join(s.DB.Check(), s.DB.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Stage) start() {
	s.t.Helper()
	var err error
	if s.DB, err = bloomdb.Open(s.options); err != nil {
		s.t.Fatal(err)
	}
	s.Ledger = openLedger(s.t, s.path, s.model)
	s.Desk = desk.New(s.DB, s.Ledger, s.desk)
}

// Restart closes the desk's database and ledger, and opens them again.
func (s *Stage) Restart() {
	s.t.Helper()
	if err := errors.Join(s.DB.Close(), s.Ledger.Close()); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

// MustReport reports a message.
func (s *Stage) MustReport(who string, set signature.Set) desk.Outcome {
	s.t.Helper()
	o, err := s.Report(desk.Report{Set: set, Reporter: who})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// MustRevoke revokes a message.
func (s *Stage) MustRevoke(who string, set signature.Set) desk.Outcome {
	s.t.Helper()
	o, err := s.Revoke(desk.Report{Set: set, Reporter: who})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// WantListed checks whether a message is listed.
func (s *Stage) WantListed(what string, set signature.Set, want bool) {
	s.t.Helper()
	if got := s.DB.Judge(set).Listed; got != want {
		s.t.Errorf("%s: listed %v, want %v", what, got, want)
	}
}

// Set returns a message with a body, a text and attachments of these contents. It is
// counted under the text.
func Set(contents ...string) signature.Set {
	var set signature.Set
	for i, c := range contents {
		kind := []signature.Kind{signature.KindBody, signature.KindText, signature.KindAttachment}[i%3]
		s := signature.Signature{Kind: kind, Digest: signature.Sum(kind, []byte(c))}
		set.Signatures = append(set.Signatures, s)
		if kind == signature.KindText {
			set.Counting = []signature.Signature{s}
		}
	}
	return set
}

// Letter returns a copy of a campaign's message. Copies differ in some words.
func Letter(campaign, copy int) signature.Set {
	return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + LetterText(campaign, copy) + "\n")))
}

// LetterText returns the body of a Letter.
func LetterText(campaign, copy int) string {
	var text strings.Builder
	for i := range 160 {
		fmt.Fprintf(&text, "%s ", word(campaign*1000+i))
		if i%40 == copy%40 {
			fmt.Fprintf(&text, "%s ", word(1_000_000+copy))
		}
	}
	return text.String()
}

// Texts returns a message with n words of one campaign, m words of another one behind them,
// and a link.
func Texts(first, n, second, m int, link string) signature.Set {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%s ", word(first*1000+i))
	}
	for i := range m {
		fmt.Fprintf(&text, "%s ", word(second*1000+i))
	}
	return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + text.String() + link + "\n")))
}

// word returns a word for a number, of letters only.
func word(n int) string {
	b := []byte("w")
	for h := uint32(n)*2654435761 + 1; h > 0; h /= 20 {
		b = append(b, "bcdfghjklmnpqrstvwxz"[h%20])
	}
	return string(b)
}

// WantMetric checks that a scrape has a line.
func WantMetric(t testing.TB, of []prometheus.Collector, line string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(of...)
	scrape := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(scrape.Body.String(), line+"\n") {
		t.Errorf("no metric %s in\n%s", line, scrape.Body)
	}
}

// Decide is a policy without exceptions, as servers of the API get it.
func Decide(e bloomdb.Evidence, signed bool) string {
	switch {
	case !signed:
		return "skipped"
	case e.Listed:
		return "spam"
	case e.Never:
		return "allowed"
	}
	return "clean"
}
