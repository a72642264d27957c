package desk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

func TestQuorum(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	m := desktest.Letter(1, 0)
	for range 3 {
		if o := s.MustReport("anna", m); o.Sum != 1 || o.Quorum != 2 {
			t.Errorf("after one of two reports: %+v", o)
		}
	}
	s.WantListed("one of two", m, false)
	if o := s.MustReport("bob", m); o.Quorum != 0 {
		t.Errorf("after both reports: %+v", o)
	}
	s.WantListed("both", m, true)
	if o := s.MustRevoke("carl", m); o.Sum != 1 || o.Quorum != 2 {
		t.Errorf("after one of two revocations: %+v", o)
	}
	s.WantListed("one revocation of two", m, true)
	s.MustRevoke("dora", m)
	s.WantListed("two revocations", m, false)
}

// TestNearDuplicatesReachTheQuorum: two people receive different copies of a campaign, and each
// reports only their own.
func TestNearDuplicatesReachTheQuorum(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	for copy := range 20 {
		s.MustReport("anna", desktest.Letter(1, copy))
	}
	s.WantListed("twenty copies of one reporter", desktest.Letter(1, 99), false)
	s.MustReport("bob", desktest.Letter(1, 50))
	s.WantListed("bob's copy", desktest.Letter(1, 50), true)
	s.WantListed("another copy", desktest.Letter(1, 99), true)
	s.WantListed("another campaign", desktest.Letter(2, 99), false)
	s.MustRevoke("carl", desktest.Letter(1, 60))
	s.MustRevoke("dora", desktest.Letter(1, 70))
	for _, copy := range []int{60, 70, 99} {
		s.WantListed(fmt.Sprint("copy after the revocation: ", copy), desktest.Letter(1, copy), false)
	}
}

func TestRevokedAndReportedAgain(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Letter(1, 0)
	s.MustReport("anna", m)
	s.MustRevoke("bob", m)
	s.WantListed("revoked", m, false)
	if o := s.MustReport("carl", m); !o.RevokedUntil.IsZero() || o.Holds != "It is spam from now on." {
		t.Errorf("reported in the period of the revocation: %+v", o)
	}
	s.WantListed("reported in the period of the revocation", m, true)
	s.WantListed("its near-duplicate", desktest.Letter(1, 7), true)
	s.MustRevoke("carl", m)
	s.WantListed("carl's second thought", m, false)
	s.WantListed("its near-duplicate", desktest.Letter(1, 7), false)
	s.Clock.Add(7 * 24 * 3600)
	s.MustReport("dora", m)
	s.WantListed("reported in a later period", m, true)
	s.WantListed("its near-duplicate", desktest.Letter(1, 7), true)
	if o := s.MustRevoke("bob", m); !o.Returned {
		t.Error("the outcome offers no remedy for a recurring false positive")
	}
	s.WantListed("revoked again", m, false)
	for range 2 { // as with a sample: nobody disagrees with anna
		s.MustReport("anna", desktest.Letter(2, 0))
		if o := s.MustRevoke("anna", desktest.Letter(2, 0)); o.Returned {
			t.Error("anna's own second thought is called a recurring false positive")
		}
	}
}

func TestOneReportersFlood(t *testing.T) {
	s := desktest.New(t, trust.Default(), 10)
	for i := range 10 {
		s.MustReport("mallory", desktest.Letter(i, 0))
	}
	_, err := s.Report(desk.Report{Set: desktest.Letter(11, 0), Reporter: "mallory"})
	if !errors.Is(err, desk.ErrTooMany) || !strings.Contains(err.Error(), "next one in 6m0s") {
		t.Errorf("the eleventh report of an hour: %v", err)
	}
	s.WantListed("the eleventh", desktest.Letter(11, 0), false)
	s.MustReport("anna", desktest.Letter(11, 0))
	if _, err := s.Report(desk.Report{Set: desktest.Letter(12, 0), Reporter: "mallory", Trusted: true}); err != nil {
		t.Error(err)
	}
	s.Clock.Add(6 * 60)
	s.MustReport("mallory", desktest.Letter(13, 0))
	// Many signatures in one report do not circumvent the limit.
	var many signature.Set
	for i := range 40 { // the maximum of three reports
		many.Signatures = append(many.Signatures, signature.Signature{Kind: signature.KindAttachment, Digest: signature.Digest{byte(i)}})
	}
	s.Clock.Add(17 * 60)
	if _, err := s.Report(desk.Report{Set: many, Reporter: "mallory"}); !errors.Is(err, desk.ErrTooMany) || !strings.Contains(err.Error(), "next one in 1m0s") {
		t.Errorf("40 signatures in one report: %v", err)
	}
	s.Clock.Add(60)
	s.MustReport("mallory", many)
}

func TestUndo(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	for i := range 5 {
		s.MustReport("mallory", desktest.Letter(i, 0))
	}
	s.MustReport("anna", desktest.Letter(3, 1)) // a near-duplicate of one of them
	s.MustReport("anna", desktest.Letter(4, 0)) // one of them
	s.MustReport("carl", desktest.Letter(9, 0))
	s.MustRevoke("mallory", desktest.Letter(9, 0))
	ask := api.UndoRequest{By: "mallory", Since: time.Unix(s.Clock.Load(), 0).Add(-time.Hour), DryRun: true}
	// Messages that anna also reported, or a near-duplicate of them, stay listed: 3 of 5 do
	// not.
	want := api.Undone{Reports: 5, Revocations: 1, Delisted: 3, Relisted: 1}
	for _, dry := range []bool{true, false} {
		ask.DryRun = dry
		got, err := s.Undo(ask, desk.Author{})
		if err != nil || got != want {
			t.Errorf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
		s.WantListed(fmt.Sprint("mallory's, dry ", dry), desktest.Letter(0, 0), dry)
		s.WantListed(fmt.Sprint("what only mallory revoked, dry ", dry), desktest.Letter(9, 0), !dry)
	}
	s.WantListed("what anna reported, too", desktest.Letter(4, 0), true)
	s.WantListed("anna's near-duplicate", desktest.Letter(3, 1), true)
	if _, err := s.Undo(api.UndoRequest{By: "nobody", Since: ask.Since}, desk.Author{}); !errors.Is(err, desk.ErrNoReporter) || err.Error() != `there is no reporter "nobody"` {
		t.Errorf("undo of an unknown reporter: %v", err)
	}
}

// TestWhatACrashLeft: the ledger contains a decision that the database has not carried out.
func TestWhatACrashLeft(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Letter(1, 0)
	if _, err := s.Ledger.Enter(s.Entry(ledger.Spam, desk.Report{Reporter: "anna", Class: bloomdb.ClassPhish}, m, s.DB.Now())); err != nil {
		t.Fatal(err)
	}
	s.WantListed("after a crash", m, false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	testenv.Eventually(t, "the report is carried out", func() bool { return s.DB.Judge(m).Listed })
	stop()
	<-ended
	if e := s.DB.Judge(desktest.Letter(1, 5)); !e.Listed {
		t.Error("its near-duplicate is not listed")
	}
	if due, err := s.Ledger.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %+v, %v", due, err)
	}
}

func TestPages(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	for i := range 25 {
		s.MustReport(fmt.Sprintf("user%02d", i%10), desktest.Letter(i, 0))
	}
	var seen []uint64
	for before := uint64(0); ; {
		page, err := s.Trail(api.TrailRequest{Limit: 10, Before: before}, signature.Set{})
		testenv.Check(t, err)
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
		page, err := s.Reporters(api.ReportersRequest{Limit: 4, After: after})
		testenv.Check(t, err)
		names += len(page.Reporters)
		if after = page.Next; after == "" {
			break
		}
	}
	if names != 10 {
		t.Errorf("%d reporters by pages", names)
	}
}
