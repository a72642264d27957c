package desk_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// decide makes the ledger decide without carrying the decision out, as after a crash.
func decide(t *testing.T, s *desktest.Stage, stance ledger.Stance, who string, set signature.Set) {
	t.Helper()
	if _, err := s.Ledger.Enter(s.Entry(stance, desk.Report{Reporter: who, Class: bloomdb.ClassOther}, set, s.DB.Now())); err != nil {
		t.Fatal(err)
	}
}

// TestFullFilterKeepsNoRevocationWaiting: a listing that cannot be carried out, because the spam
// filter is full, is due before a revocation. The revocation is carried out nevertheless.
func TestFullFilterKeepsNoRevocationWaiting(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	wrong := desktest.Letter(0, 0)
	s.MustReport("anna", wrong)
	decide(t, s, ledger.Spam, "anna", desktest.Letter(1, 0))
	decide(t, s, ledger.Ham, "bob", wrong)
	full := false
	for i := 2; !full; i++ {
		_, err := s.Report(desk.Report{Set: desktest.Letter(i, 0), Reporter: fmt.Sprint("user", i%8)}) // several reporters: each has only a share
		if full = errors.Is(err, bloomdb.ErrFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	if err := s.CarryOutAll(); !errors.Is(err, bloomdb.ErrFull) {
		t.Errorf("a report without room: %v", err)
	}
	s.WantListed("what was revoked", wrong, false)
	if due, err := s.Ledger.Due(0, 10); err != nil || len(due) != 1 {
		t.Errorf("due are %+v, %v; want the listing without room", due, err)
	}
	s.Clock.Add(7 * 24 * 3600) // the next filter has room
	if err := s.CarryOutAll(); err != nil {
		t.Error(err)
	}
	s.WantListed("what had no room", desktest.Letter(1, 0), true)
}

// An undo of what was settled ends it at once, also if the listing that follows has no room yet.
func TestSettlementEndsWithoutRoom(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(0, 0)
	s.MustReport("anna", spam)
	if _, err := s.Settle(desk.Report{Set: spam}, desk.SettleWanted, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	for i, full := 2, false; !full; i++ {
		_, err := s.Report(desk.Report{Set: desktest.Letter(i, 0), Reporter: fmt.Sprint("user", i%8)})
		if full = errors.Is(err, bloomdb.ErrFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	decide(t, s, ledger.Spam, "anna", desktest.Letter(1, 0))
	_, err := s.Undo(api.UndoRequest{By: ledger.Settler, Since: desktest.Noon.AddDate(0, 0, -1)}, desk.Author{Name: "root"})
	testenv.Check(t, err)
	if err := s.CarryOutAll(); !errors.Is(err, bloomdb.ErrFull) {
		t.Fatalf("there was room: %v", err)
	}
	s.Clock.Add(7 * 24 * 3600) // the next filter has room
	if err := s.CarryOutAll(); err != nil {
		t.Fatal(err)
	}
	s.WantListed("what is no longer settled", spam, true)
}

// A message is settled until the ledger forgets it, as settle --help says, and not until the next start.
func TestSettlementExpires(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam, wanted := desktest.Letter(0, 0), desktest.Letter(1, 0)
	for as, set := range map[string]signature.Set{desk.SettleSpam: spam, desk.SettleWanted: wanted} {
		if _, err := s.Settle(desk.Report{Set: set}, as, desk.Author{Name: "root"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 6 { // weeks
		s.WantListed("settled as spam", spam, true)
		s.Clock.Add(7 * 24 * 3600)
	}
	testenv.Check(t, s.Expire(t.Context(), desk.ExpireLooks))
	if status, err := s.Ledger.Status(); err != nil || status.Reports != 0 {
		t.Fatalf("%d reports are kept (%v)", status.Reports, err)
	}
	s.WantListed("what was settled as spam", spam, false)
	s.MustReport("anna", wanted)
	s.WantListed("what was settled as wanted, and is reported", wanted, true)
}

// TestListedTooLate: a pending listing is revoked before it could be carried out. If it were
// carried out in a later period, it would override the revocation.
func TestListedTooLate(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Letter(1, 0)
	decide(t, s, ledger.Spam, "anna", m)
	s.MustRevoke("bob", m)
	s.Clock.Add(7 * 24 * 3600)
	testenv.Check(t, s.CarryOutAll())
	s.WantListed("what was taken back", m, false)
	if due, err := s.Ledger.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("due are %+v, %v", due, err)
	}
}

// TestManyDue: one call carries out more than one batch.
func TestManyDue(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	const n = 300
	for i := range n { // three reporters: one has a share of the period's reports
		decide(t, s, ledger.Spam, fmt.Sprint("user ", i%3), signature.Set{Signatures: desktest.Letter(i, 0).Signatures[:1]})
	}
	testenv.Check(t, s.CarryOutAll())
	for i := range n {
		s.WantListed(fmt.Sprint("letter ", i), desktest.Letter(i, 0), true)
	}
}

// TestWhatARevocationSays: a revocation of an unreported message is answered as without effect,
// and without a sum. A revocation of a message that was revoked before and is not listed offers
// no retouch.
func TestWhatARevocationSays(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 1)
	if o := s.MustRevoke("anna", desktest.Letter(1, 0)); !o.Idle || o.Sum != 0 || o.Quorum != 0 || o.Returned {
		t.Errorf("an unreported message: %+v", o)
	}
	one := desktest.New(t, trust.Default(), 0)
	one.MustReport("anna", desktest.Letter(1, 0))
	one.MustRevoke("bob", desktest.Letter(1, 0))
	if o := one.MustRevoke("carl", desktest.Letter(1, 0)); o.Returned {
		t.Errorf("an unlisted message: %+v", o)
	}
}

// A revocation while the revocation of an undo waits is not one of what only other sites list: its own
// undo lists nothing that nobody reports.
func TestRevocationWhileUndoWaits(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam := desktest.Letter(1, 0)
	s.MustReport("anna", spam)
	undo := func(who string) ledger.Undo { return ledger.Undo{Reporter: who, At: desktest.Noon} }
	if _, err := s.Ledger.Withdraw(undo("anna")); err != nil {
		t.Fatal(err)
	}
	s.MustRevoke("bob", spam)
	if err := s.CarryOutAll(); err != nil {
		t.Fatal(err)
	}
	s.WantListed("revoked and undone", spam, false)
	if _, err := s.Ledger.Withdraw(undo("bob")); err != nil {
		t.Fatal(err)
	}
	if err := s.CarryOutAll(); err != nil {
		t.Fatal(err)
	}
	s.WantListed("what nobody reports", spam, false)
}
