package desk_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// decide lets the ledger decide, and leaves it at that, as a crash does.
func decide(t *testing.T, s *desktest.Stage, stance ledger.Stance, who string, set signature.Set) {
	t.Helper()
	if _, err := s.Ledger.Enter(s.Entry(stance, desk.Report{Reporter: who, Class: bloomdb.ClassOther}, set, s.DB.Now())); err != nil {
		t.Fatal(err)
	}
}

// TestFullFilterKeepsNoRevocationWaiting: what cannot be listed, as the filter of spam is
// full, stands before a revocation, which can be carried out.
func TestFullFilterKeepsNoRevocationWaiting(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	wrong := desktest.Letter(0, 0)
	s.MustReport("anna", wrong)
	decide(t, s, ledger.Spam, "anna", desktest.Letter(1, 0))
	decide(t, s, ledger.Ham, "bob", wrong)
	full := false
	for i := 2; !full; i++ {
		_, err := s.Report(desk.Report{Set: desktest.Letter(i, 0), Reporter: fmt.Sprint("user", i%8)}) // each has a share
		if full = errors.Is(err, bloomdb.ErrFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	if err := s.CarryOutAll(); !errors.Is(err, bloomdb.ErrFull) {
		t.Errorf("of what has no room is said: %v", err)
	}
	s.WantListed("what was revoked", wrong, false)
	if due, err := s.Ledger.Due(0, 10); err != nil || len(due) != 1 {
		t.Errorf("due are %+v, %v; want what has no room", due, err)
	}
	s.Clock.Add(7 * 24 * 3600) // the next filter has room
	if err := s.CarryOutAll(); err != nil {
		t.Error(err)
	}
	s.WantListed("what had no room", desktest.Letter(1, 0), true)
}

// TestListedTooLate: a listing waits, and is taken back before it could be carried out.
// In a later period it would win over the revocation.
func TestListedTooLate(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Letter(1, 0)
	decide(t, s, ledger.Spam, "anna", m)
	s.MustRevoke("bob", m)
	s.Clock.Add(7 * 24 * 3600)
	if err := s.CarryOutAll(); err != nil {
		t.Fatal(err)
	}
	s.WantListed("what was taken back", m, false)
	if due, err := s.Ledger.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("due are %+v, %v", due, err)
	}
}

// TestManyDue: more than one batch is carried out at once.
func TestManyDue(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	const n = 300
	for i := range n {
		decide(t, s, ledger.Spam, "anna", signature.Set{Signatures: desktest.Letter(i, 0).Signatures[:1]})
	}
	if err := s.CarryOutAll(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.WantListed(fmt.Sprint("letter ", i), desktest.Letter(i, 0), true)
	}
}

// TestWhatARevocationSays: of what nobody reported, that it has no effect, and no sum; of
// what was taken back before and is not listed now, no retouch.
func TestWhatARevocationSays(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 1)
	if o := s.MustRevoke("anna", desktest.Letter(1, 0)); !o.Idle || o.Sum != 0 || o.Quorum != 0 || o.Returned {
		t.Errorf("of what nobody reported: %+v", o)
	}
	one := desktest.New(t, trust.Default(), 0)
	one.MustReport("anna", desktest.Letter(1, 0))
	one.MustRevoke("bob", desktest.Letter(1, 0))
	if o := one.MustRevoke("carl", desktest.Letter(1, 0)); o.Returned {
		t.Errorf("of what is not listed: %+v", o)
	}
}
