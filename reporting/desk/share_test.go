package desk_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// noise returns a set of random digests. The desk cannot check that they belong to a message.
func noise(random *rand.Rand, n int) (set signature.Set) {
	for range n {
		s := signature.Signature{Kind: signature.KindAttachment}
		for i := 0; i < len(s.Digest); i += 8 {
			binary.LittleEndian.PutUint64(s.Digest[i:], random.Uint64())
		}
		set.Signatures = append(set.Signatures, s)
	}
	return set
}

// TestUndoLeavesRevocations is the attack "a share to undo": a reporter lists as much as its share allows. To
// undo all of that takes more room than a period has for revocations. The undo stops before it is used up, and
// what others revoke is taken back at once.
func TestUndoLeavesRevocations(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	wrong := desktest.Letter(1, 0)
	s.MustReport("anna", wrong)
	reports := 0
	for n := 2; ; n++ {
		if _, err := s.Report(desk.Report{Set: desktest.Letter(n, 0), Reporter: "mallory"}); errors.Is(err, ledger.ErrShare) {
			break
		} else {
			testenv.Check(t, err)
		}
		reports++
	}
	ask, undone := api.UndoRequest{By: "mallory", Since: desktest.Noon.Add(-time.Hour)}, 0
	for {
		done, err := s.Undo(ask, desk.Author{})
		if errors.Is(err, ledger.ErrPeriodShare) && strings.Contains(err.Error(), "never and retouch") && strings.Contains(err.Error(), "next period begins") {
			break
		}
		testenv.Check(t, err)
		if undone += done.Reports; done.Next == 0 {
			t.Fatalf("all of %d reports were undone", reports)
		}
		ask.Before = done.Next
	}
	if undone == 0 {
		t.Error("nothing was undone")
	}
	for _, filter := range s.DB.Status().Filters {
		if filter.Kind == "revoked" && filter.Taken > 0.85 {
			t.Errorf("undo used %.0f %% of the room", 100*filter.Taken)
		}
	}
	s.MustRevoke("bob", wrong)
	s.WantListed("what bob revoked after the undo", wrong, false)
	if _, err := s.Undo(api.UndoRequest{By: "bob", Since: ask.Since}, desk.Author{}); err != nil { // this revokes nothing
		t.Error(err)
	}
	s.WantListed("what bob's undo lists again", wrong, true)
}

// Undoing two reporters of messages with many signatures at once leaves users their room, too.
func TestUndoOfTwoAtOnce(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	wrong := desktest.Letter(1, 0)
	s.MustReport("anna", wrong)
	random := rand.New(rand.NewPCG(1, 1))
	both := []string{"mallory", "mara"}
	for _, who := range both {
		for {
			if _, err := s.Report(desk.Report{Set: noise(random, 32), Reporter: who}); errors.Is(err, ledger.ErrShare) {
				break
			} else {
				testenv.Check(t, err)
			}
		}
	}
	var undos errgroup.Group
	var isLeft atomic.Bool // for a later request: the share of undo is used up in between
	for _, who := range both {
		undos.Go(func() error {
			done, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.Add(-time.Hour)}, desk.Author{})
			if done.Next != 0 {
				isLeft.Store(true)
			}
			return err
		})
	}
	if err := undos.Wait(); !errors.Is(err, ledger.ErrPeriodShare) && (err != nil || !isLeft.Load()) {
		t.Errorf("%v, left %v; want the share of undo", err, isLeft.Load())
	}
	for _, filter := range s.DB.Status().Filters {
		if filter.Kind == "revoked" && filter.Taken > 0.95 {
			t.Errorf("undo used %.0f %% of the room", 100*filter.Taken)
		}
	}
	s.MustRevoke("bob", wrong)
}

// TestUndoWithoutRoomToList is the attack "an undo that stops": accomplices fill the period's spam filter, and
// a reporter revokes what others had listed in the last period. Undoing that lists it again, for which there is
// no room until the next period. The undo of all these reporters goes on nevertheless.
func TestUndoWithoutRoomToList(t *testing.T) {
	s, random := desktest.New(t, trust.Default(), 0), rand.New(rand.NewPCG(1, 2))
	wanted := desktest.Letter(1, 0)
	s.MustReport("anna", wanted)
	s.Clock.Add(7 * 24 * 3600)
	for n := 0; ; n++ {
		err := flood(t, s.Report, func() desk.Report { return desk.Report{Set: noise(random, 4), Reporter: fmt.Sprint("mallory", n)} })
		if !errors.Is(err, ledger.ErrShare) {
			break // the filter is full
		}
	}
	s.MustRevoke("mallory0", wanted)
	ask := api.UndoRequest{By: "mallory0", Since: desktest.Noon, Limit: 2}
	for range 3 {
		done, err := s.Undo(ask, desk.Author{})
		if err != nil || done.Reports+done.Revocations == 0 || done.Next == 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		ask.Before = done.Next
	}
	s.WantListed("what has no room", wanted, false)
	s.Clock.Add(7 * 24 * 3600)
	testenv.Check(t, s.CarryOutAll())
	s.WantListed("in the next period", wanted, true)
}

// Revocations of unreported messages write nothing, however many there are: they do not fill the
// revocation filter for others.
func TestRevocationOfWhatIsNotListed(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(1, 0)
	s.MustReport("anna", spam)
	before, err := s.Ledger.Status()
	testenv.Check(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range testenv.Rounds(978) {
		o, err := s.Revoke(desk.Report{Set: noise(random, 256), Reporter: "mallory"})
		if err != nil || !o.Idle {
			t.Fatalf("request %d: %+v, %v", i, o, err)
		}
	}
	if after, err := s.Ledger.Status(); err != nil || after.Reports != before.Reports || after.Reporters != before.Reporters {
		t.Errorf("the ledger has %+v, had %+v: %v", after, before, err)
	}
	for _, f := range s.DB.Status().Filters {
		if f.Kind == "revoked" && f.Fill > 0 {
			t.Errorf("the revocation filter is filled: %+v", f)
		}
	}
	if o := s.MustRevoke("bob", spam); o.Idle {
		t.Error("bob's revocation has no effect")
	}
	s.WantListed("what bob revoked", spam, false)
}

// A revocation of a message that another site listed is written, although nobody reported the
// message here.
func TestRevocationOfWhatAnotherSiteListed(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	o := desktest.Options(t.TempDir())
	o.Site, o.Exchange, o.Now = "other", true, s.DB.Now
	other, err := bloomdb.Open(o)
	testenv.Check(t, err)
	defer other.Close()
	spam := desktest.Letter(1, 0)
	testenv.Check(t, errors.Join(other.Resume(0, 0), other.Report(spam, bloomdb.ClassOther)))
	if o := s.MustRevoke("anna", spam); !o.Idle {
		t.Errorf("before the listing arrives: %+v", o)
	}
	delta, _, err := other.NextDelta(true)
	testenv.Check(t, err)
	testenv.Check(t, s.DB.Apply(delta.Data, bloomdb.Next))
	s.WantListed("what the other site listed", spam, true)
	if o := s.MustRevoke("anna", spam); o.Idle {
		t.Errorf("a revocation of it: %+v", o)
	}
	s.WantListed("after the revocation", spam, false)
}

// flood reports or revokes noise until a request is rejected.
func flood(t *testing.T, enter func(desk.Report) (desk.Outcome, error), r func() desk.Report) error {
	t.Helper()
	for range 10_000 {
		if _, err := enter(r()); err != nil {
			return err
		}
	}
	t.Fatal("no request was rejected")
	return nil
}

// wantShare checks that a request was rejected because the share of the given party is used up.
func wantShare(t *testing.T, err error, whose string) {
	t.Helper()
	if !errors.Is(err, ledger.ErrShare) || !strings.Contains(err.Error(), whose+" has taken the ") {
		t.Fatalf("%v, want that the share of %s is used up", err, whose)
	}
}

// One reporter can fill neither the spam filter nor the revocation filter. Others can still
// report, and so can the reporter in the next period.
func TestReportersShare(t *testing.T) {
	s, random := desktest.New(t, trust.Default(), 0), rand.New(rand.NewPCG(1, 2))
	err := flood(t, s.Report, func() desk.Report { return desk.Report{Set: noise(random, 16), Reporter: "mallory"} })
	wantShare(t, err, "mallory")
	if !strings.Contains(err.Error(), "25 % of the period's reports that one may have; the next period begins 2026-11-26 00:00Z") {
		t.Error(err)
	}
	accomplices := 0
	err = flood(t, s.Revoke, func() desk.Report {
		accomplices++
		own := noise(random, 1) // listed, so that it can be revoked
		s.MustReport(fmt.Sprint("accomplice", accomplices), own)
		return desk.Report{Set: signature.Set{Signatures: append(noise(random, 16).Signatures, own.Signatures...)}, Reporter: "mallory"}
	})
	wantShare(t, err, "mallory")
	for i := range 4 {
		s.MustReport("anna", desktest.Letter(i, 0))
		s.WantListed("what anna reported", desktest.Letter(i, 0), true)
	}
	s.MustRevoke("bob", desktest.Letter(1, 0))
	s.WantListed("what bob revoked", desktest.Letter(1, 0), false)
	s.Clock.Add(7 * 24 * 3600)
	s.MustReport("mallory", desktest.Letter(9, 0))
	s.WantListed("mallory's report of the next period", desktest.Letter(9, 0), true)
}

// Signatures that the filters already contain use up no share.
func TestKnownReportsAreFree(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	s.MustReport("anna", desktest.Letter(1, 0))
	for _, revoke := range []bool{false, true} {
		if revoke {
			s.MustRevoke("anna", desktest.Letter(1, 0))
		}
		if cost := s.DB.Cost(desktest.Letter(1, 0), revoke); cost != 0 {
			t.Errorf("revoke %v: repeating it costs %g", revoke, cost)
		}
		if cost := s.DB.Cost(desktest.Letter(2, 0), revoke); cost <= 0 {
			t.Errorf("revoke %v: another one costs %g", revoke, cost)
		}
	}
}

// Neither a program that reports for others under many names nor a trap can fill the filters.
func TestOriginsShare(t *testing.T) {
	s, random := desktest.New(t, trust.Default(), 0), rand.New(rand.NewPCG(1, 2))
	wantShare(t, flood(t, s.Report, func() desk.Report {
		return desk.Report{Set: noise(random, 16), Reporter: "trap:lure", Trap: true}
	}), "trap:lure")
	s, names := desktest.New(t, trust.Default(), 0), 0
	store := desk.Origin{Client: "store"}
	wantShare(t, flood(t, s.Report, func() desk.Report {
		names++
		return desk.Report{Set: noise(random, 16), Reporter: fmt.Sprint("user", names), Origin: store}
	}), "tcp:store")
	if _, err := s.Report(desk.Report{Set: desktest.Letter(1, 0), Reporter: "anna", Origin: desk.Origin{Known: true, UID: 1000}}); err != nil {
		t.Error(err)
	}
	s.WantListed("what anna reported", desktest.Letter(1, 0), true)
}
