package reporting

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// decide lets the ledger decide, and leaves it at that, as a crash does.
func (s *stage) decide(stance ledger.Stance, who string, set signature.Set) {
	s.t.Helper()
	if _, err := s.ledger.Enter(s.entry(stance, Report{Reporter: who, Class: bloomdb.ClassOther}, set, s.db.Now())); err != nil {
		s.t.Fatal(err)
	}
}

// TestFullFilterKeepsNoRevocationWaiting: what cannot be listed, as the filter of spam is
// full, stands before a revocation, which can be carried out.
func TestFullFilterKeepsNoRevocationWaiting(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	wrong := letter(0, 0)
	s.report("anna", wrong)
	s.decide(ledger.Spam, "anna", letter(1, 0))
	s.decide(ledger.Ham, "bob", wrong)
	full := false
	for i := 2; !full; i++ {
		_, err := s.Report(Report{Set: letter(i, 0), Reporter: fmt.Sprint("user", i%8)}) // each has a share
		if full = errors.Is(err, bloomdb.ErrFull); err != nil && !full {
			t.Fatal(err)
		}
	}
	if err := s.carryOutAll(); !errors.Is(err, bloomdb.ErrFull) {
		t.Errorf("of what has no room is said: %v", err)
	}
	s.wantListed("what was revoked", wrong, false)
	if due, err := s.ledger.Due(0, 10); err != nil || len(due) != 1 {
		t.Errorf("due are %+v, %v; want what has no room", due, err)
	}
	s.now.Add(7 * 24 * 3600) // the next filter has room
	if err := s.carryOutAll(); err != nil {
		t.Error(err)
	}
	s.wantListed("what had no room", letter(1, 0), true)
}

// TestListedTooLate: a listing waits, and is taken back before it could be carried out.
// In a later period it would win over the revocation.
func TestListedTooLate(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	m := letter(1, 0)
	s.decide(ledger.Spam, "anna", m)
	s.revoke("bob", m)
	s.now.Add(7 * 24 * 3600)
	if err := s.carryOutAll(); err != nil {
		t.Fatal(err)
	}
	s.wantListed("what was taken back", m, false)
	if due, err := s.ledger.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("due are %+v, %v", due, err)
	}
}

// TestManyDue: more than one batch is carried out at once.
func TestManyDue(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	const n = 300
	for i := range n {
		s.decide(ledger.Spam, "anna", signature.Set{Signatures: letter(i, 0).Signatures[:1]})
	}
	if err := s.carryOutAll(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		s.wantListed(fmt.Sprint("letter ", i), letter(i, 0), true)
	}
}

// TestWhatARevocationSays: of what nobody reported, that it has no effect, and no sum; of
// what was taken back before and is not listed now, no retouch.
func TestWhatARevocationSays(t *testing.T) {
	s := newStage(t, twoNeeded, 1)
	if o := s.revoke("anna", letter(1, 0)); !o.Idle || o.Sum != 0 || o.Quorum != 0 || o.Returned {
		t.Errorf("of what nobody reported: %+v", o)
	}
	one := newStage(t, trust.Default(), 0)
	one.report("anna", letter(1, 0))
	one.revoke("bob", letter(1, 0))
	if o := one.revoke("carl", letter(1, 0)); o.Returned {
		t.Errorf("of what is not listed: %+v", o)
	}
	// More signatures than an hour allows are one hour's.
	if err := newLimits(1).take("anna", maxSignatures, s.db.Now()); err != nil {
		t.Error(err)
	}
}
