package reporting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

func openLedger(t testing.TB, m trust.Model) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: m, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// stage is a desk whose clock is moved by the test.
type stage struct {
	*Desk
	t   *testing.T
	now atomic.Int64 // unix seconds
}

var twoNeeded = trust.Model{Quorum: 2, Newcomer: 1, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}

func newStage(t *testing.T, m trust.Model, maxHour int) *stage {
	t.Helper()
	s := &stage{t: t}
	s.now.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix())
	o := smallOptions(t.TempDir())
	o.Now = func() time.Time { return time.Unix(s.now.Load(), 0).UTC() }
	db, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Check(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	s.Desk = NewDesk(db, openLedger(t, m), DeskOptions{MaxHour: maxHour})
	return s
}

func (s *stage) report(who string, set signature.Set) Outcome {
	s.t.Helper()
	o, err := s.Report(Report{Set: set, Reporter: who})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *stage) revoke(who string, set signature.Set) Outcome {
	s.t.Helper()
	o, err := s.Revoke(Report{Set: set, Reporter: who})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *stage) wantListed(what string, set signature.Set, want bool) {
	s.t.Helper()
	if got := s.db.Judge(set).Listed; got != want {
		s.t.Errorf("%s: listed %v, want %v", what, got, want)
	}
}

// letter is a message with a text of its own, which differs from others of the same
// campaign in some words.
func letter(campaign, copy int) signature.Set {
	var text strings.Builder
	for i := range 160 {
		fmt.Fprintf(&text, "%s ", word(campaign*1000+i))
		if i%40 == copy%40 {
			fmt.Fprintf(&text, "%s ", word(1_000_000+copy))
		}
	}
	return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + text.String() + "\n")))
}

// word makes a word of a number, of letters only.
func word(n int) string {
	b := []byte("w")
	for h := uint32(n)*2654435761 + 1; h > 0; h /= 20 {
		b = append(b, "bcdfghjklmnpqrstvwxz"[h%20])
	}
	return string(b)
}

func TestQuorum(t *testing.T) {
	s := newStage(t, twoNeeded, 0)
	m := letter(1, 0)
	for range 3 {
		if o := s.report("anna", m); o.Sum != 1 || o.Quorum != 2 {
			t.Errorf("one of two says %+v", o)
		}
	}
	s.wantListed("one of two", m, false)
	if o := s.report("bob", m); o.Quorum != 0 {
		t.Errorf("both say %+v", o)
	}
	s.wantListed("both", m, true)
	if o := s.revoke("carl", m); o.Sum != 1 || o.Quorum != 2 {
		t.Errorf("one revocation of two says %+v", o)
	}
	s.wantListed("one revocation of two", m, true)
	s.revoke("dora", m)
	s.wantListed("two revocations", m, false)
}

// TestNearDuplicatesReachTheQuorum: two people get different copies of a campaign, and
// neither of them reports what the other one does.
func TestNearDuplicatesReachTheQuorum(t *testing.T) {
	s := newStage(t, twoNeeded, 0)
	for copy := range 20 {
		s.report("anna", letter(1, copy))
	}
	s.wantListed("twenty copies of one reporter", letter(1, 99), false)
	s.report("bob", letter(1, 50))
	s.wantListed("bob's copy", letter(1, 50), true)
	s.wantListed("another copy", letter(1, 99), true)
	s.wantListed("another campaign", letter(2, 99), false)
	s.revoke("carl", letter(1, 60))
	s.revoke("dora", letter(1, 70))
	for _, copy := range []int{60, 70, 99} {
		s.wantListed(fmt.Sprint("copy after the revocation: ", copy), letter(1, copy), false)
	}
}

func TestRevokedAndReportedAgain(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	m := letter(1, 0)
	s.report("anna", m)
	s.revoke("bob", m)
	s.wantListed("revoked", m, false)
	if o := s.report("carl", m); o.RevokedUntil.IsZero() {
		t.Errorf("reported in the period of the revocation: %+v", o)
	}
	s.wantListed("reported in the period of the revocation", m, false)
	s.now.Add(7 * 24 * 3600)
	s.report("dora", m)
	s.wantListed("reported in a later period", m, true)
	s.wantListed("its near-duplicate", letter(1, 7), true)
	if o := s.revoke("bob", m); !o.Returned {
		t.Error("nothing is offered for a false positive that came back")
	}
	s.wantListed("revoked again", m, false)
}

func TestOneReportersFlood(t *testing.T) {
	s := newStage(t, trust.Default(), 10)
	for i := range 10 {
		s.report("mallory", letter(i, 0))
	}
	_, err := s.Report(Report{Set: letter(11, 0), Reporter: "mallory"})
	if !errors.Is(err, ErrTooMany) || problemOf(err).Status != http.StatusTooManyRequests || !strings.Contains(err.Error(), "next one in 6m0s") {
		t.Errorf("the eleventh report of an hour: %v", err)
	}
	s.wantListed("the eleventh", letter(11, 0), false)
	s.report("anna", letter(11, 0))
	if _, err := s.Report(Report{Set: letter(12, 0), Reporter: "mallory", Trusted: true}); err != nil {
		t.Error(err)
	}
	s.now.Add(6 * 60)
	s.report("mallory", letter(13, 0))
	// Many signatures in one report are no way around it.
	var many signature.Set
	for i := range 40 { // as many as three reports may have
		many.Signatures = append(many.Signatures, signature.Signature{Kind: signature.KindAttachment, Digest: signature.Digest{byte(i)}})
	}
	s.now.Add(17 * 60)
	if _, err := s.Report(Report{Set: many, Reporter: "mallory"}); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "next one in 1m0s") {
		t.Errorf("40 signatures in one report: %v", err)
	}
	s.now.Add(60)
	s.report("mallory", many)
}

func TestUndo(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	for i := range 5 {
		s.report("mallory", letter(i, 0))
	}
	s.report("anna", letter(3, 1)) // a near-duplicate of one of them
	s.report("anna", letter(4, 0)) // one of them
	s.report("carl", letter(9, 0))
	s.revoke("mallory", letter(9, 0))
	ask := UndoRequest{By: "mallory", Since: time.Unix(s.now.Load(), 0).Add(-time.Hour), DryRun: true}
	// What anna reported, or a near-duplicate of, stays listed: 3 of 5 are not.
	want := Undone{Reports: 5, Revocations: 1, Delisted: 3, Standing: 1}
	for _, dry := range []bool{true, false} {
		ask.DryRun = dry
		got, err := s.Undo(ask, Caller{})
		if err != nil || got != want {
			t.Errorf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
		s.wantListed(fmt.Sprint("mallory's, dry ", dry), letter(0, 0), dry)
	}
	s.wantListed("what anna reported, too", letter(4, 0), true)
	s.wantListed("anna's near-duplicate", letter(3, 1), true)
	var p *Problem
	if _, err := s.Undo(UndoRequest{By: "nobody", Since: ask.Since}, Caller{}); !errors.As(err, &p) || p.Status != http.StatusUnprocessableEntity {
		t.Errorf("of somebody who never reported: %v", err)
	}
}

// TestWhatACrashLeft: the ledger has decided, and the database does not know.
func TestWhatACrashLeft(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	m := letter(1, 0)
	if _, err := s.ledger.Enter(s.entry(ledger.Spam, Report{Reporter: "anna", Class: bloomdb.ClassPhish}, m, s.db.Now())); err != nil {
		t.Fatal(err)
	}
	s.wantListed("after a crash", m, false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	testenv.Eventually(t, "the report is carried out", func() bool { return s.db.Judge(m).Listed })
	stop()
	<-ended
	if e := s.db.Judge(letter(1, 5)); !e.Listed {
		t.Error("its near-duplicate is not listed")
	}
	if due, err := s.ledger.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %+v, %v", due, err)
	}
}

// TestTrailIsPrivate: who does not administrate sees no one else's name.
func TestTrailIsPrivate(t *testing.T) {
	s := newStage(t, twoNeeded, 0)
	m := letter(1, 0)
	s.report("anna", m)
	s.report("bob", letter(1, 9))
	s.report("bob", letter(2, 0))
	options := HandlerOptions{Decide: decide, Access: NewAccess(AccessOptions{DaemonUID: 100})}
	options.Access.names.lookup = lookupPeople
	h := NewHandler(s.Desk, options)
	ask := func(uid int, path string, question any) (status int, body string) {
		t.Helper()
		w := answerTo(h, process(uid), http.MethodPost, path, asJSON(t, question))
		return w.Code, w.Body.String()
	}
	ofMessage := TrailRequest{Request: NewRequest(m)}
	if status, body := ask(0, "/v1/reports", ofMessage); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 2 || !strings.Contains(body, `"bob"`) {
		t.Errorf("root is told of a message and its near-duplicate: %d %s", status, body)
	}
	if status, body := ask(1000, "/v1/reports", ofMessage); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 2 || strings.Contains(body, `bob`) || !strings.Contains(body, `"anna"`) {
		t.Errorf("anna is told of a message: %d %s", status, body)
	}
	if status, body := ask(1000, "/v1/reports", TrailRequest{}); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 1 {
		t.Errorf("anna is told of all: %d %s", status, body)
	}
	for path, question := range map[string]any{
		"/v1/reports": TrailRequest{By: "bob"}, "/v1/reporters": ReportersRequest{Name: "bob"},
		"/v1/undo": UndoRequest{By: "bob", Since: time.Unix(1, 0)}, "/v1/reporters/weight": WeightRequest{Name: "anna"},
	} {
		if status, body := ask(1000, path, question); status != http.StatusForbidden {
			t.Errorf("%s: anna is answered %d %s", path, status, body)
		}
	}
	if status, body := ask(1000, "/v1/reporters", ReportersRequest{}); status != http.StatusOK || strings.Contains(body, "bob") || !strings.Contains(body, `"anna"`) {
		t.Errorf("anna is told of reporters: %d %s", status, body)
	}
}

func TestPages(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	for i := range 25 {
		s.report(fmt.Sprintf("user%02d", i%10), letter(i, 0))
	}
	var seen []uint64
	for before := uint64(0); ; {
		page, err := s.trail(TrailRequest{Limit: 10, Before: before}, Report{}, Caller{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Reports {
			seen = append(seen, r.ID)
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	if len(seen) != 25 || seen[0] <= seen[24] {
		t.Errorf("reports by pages: %v", seen)
	}
	names := 0
	for after := ""; ; {
		page, err := s.reporters(ReportersRequest{Limit: 4, After: after})
		if err != nil {
			t.Fatal(err)
		}
		names += len(page.Reporters)
		if after = page.Next; after == "" {
			break
		}
	}
	if names != 10 {
		t.Errorf("%d reporters by pages", names)
	}
}

// texts is a message with words of one letter, behind them some of another one, and a link.
func texts(first, n, second, m int, link string) signature.Set {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%s ", word(first*1000+i))
	}
	for i := range m {
		fmt.Fprintf(&text, "%s ", word(second*1000+i))
	}
	return signature.Compute(signature.Parse([]byte("Subject: x\n\n" + text.String() + link + "\n")))
}
