package desk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// One person who revokes each copy that is held, a copy of his own, and one that was revoked before keeps no
// campaign from its second reporter, and takes nobody's weight.
func TestHeldAgainstRevocations(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	for i := range 40 {
		s.Deliver(uint64(i), 1, desktest.Letter(1, i))
	}
	if o := s.MustReport("user0", desktest.Letter(1, 0)); !o.Held {
		t.Fatalf("the first report: %+v", o)
	}
	for _, copied := range []int{0, 39} {
		if o := s.MustRevoke("mallory", desktest.Letter(1, copied)); !o.Idle || o.Holds != "It is not listed, so there is nothing to revoke." {
			t.Errorf("revoked while it is held: %+v", o)
		}
	}
	s.MustReport("user1", desktest.Letter(1, 1))
	s.WantListed("a third copy, after two reports", desktest.Letter(1, 2), true)
	s.MustRevoke("mallory", desktest.Letter(1, 0)) // two reports take one of his four revocations
	s.WantListed("revoked when it is listed", desktest.Letter(1, 2), false)
	if o := s.MustReport("user2", desktest.Letter(1, 3)); !o.Held {
		t.Errorf("reported again: %+v", o)
	}
	for _, copied := range []int{3, 0, 39} {
		s.MustRevoke("mallory", desktest.Letter(1, copied))
	}
	s.MustReport("user3", desktest.Letter(1, 4))
	s.WantListed("a third copy, after two more reports", desktest.Letter(1, 5), true)
	s.MustReport("user2", desktest.Letter(2, 0))
	s.WantListed("what a user reports whose report was revoked while it was held", desktest.Letter(2, 0), true)
}

// Nor does one who revokes copies with a file that is listed.
func TestHeldAgainstRevocationsOfFiles(t *testing.T) {
	for _, ofFile := range []string{"mallory", "zoe"} {
		s := desktest.OpenHolding(t, trust.Default(), 20)
		for i := range 40 {
			s.Deliver(uint64(i), 1, desktest.Letter(1, i))
		}
		if o := s.MustReport("anna", desktest.Letter(1, 0)); !o.Held {
			t.Fatalf("the first report: %+v", o)
		}
		for i := range 3 {
			own := desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i), fmt.Sprint("file", i))
			s.MustReport(ofFile, own)
			mixed := desktest.Letter(1, 0)
			mixed.Signatures = append(slices.Clone(mixed.Signatures), own.Signatures[2])
			s.MustRevoke("mallory", mixed)
			s.WantListed("mail with the file", signature.Set{Signatures: own.Signatures[2:]}, false)
		}
		s.MustReport("bert", desktest.Letter(1, 1))
		s.WantListed("a third copy, after two reports", desktest.Letter(1, 2), true)
		s.MustReport("anna", desktest.Letter(2, 0))
		s.WantListed("what the first one reports", desktest.Letter(2, 0), true)
	}
}

// Two held reports of similar copies list the message. A revocation of one copy then refutes its reporter: otherwise
// one further report of that copy would list it.
func TestRevocationOfWhatWasHeld(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	for i := range 40 {
		s.Deliver(uint64(i), 1, desktest.Letter(1, i))
	}
	s.MustReport("user0", desktest.Letter(1, 0))
	s.MustReport("user1", desktest.Letter(1, 1))
	s.WantListed("a third copy", desktest.Letter(1, 2), true)
	s.MustRevoke("bert", desktest.Letter(1, 0))
	s.WantListed("a third copy, revoked", desktest.Letter(1, 2), false)
	if o := s.MustReport("user2", desktest.Letter(1, 0)); !o.Held {
		t.Errorf("the revoked copy, reported again: %+v", o)
	}
}

// Mail that other sites have counted does not hold a report: at each of them there may be one recipient.
func TestHitsOfOtherSites(t *testing.T) {
	s := desktest.OpenHolding(t, trust.Default(), 20)
	for _, name := range []string{"mx2", "mx3"} {
		o := desktest.Options(t.TempDir())
		o.Site, o.Exchange = name, true
		other := bloomdbtest.Open(t, o)
		testenv.Check(t, other.Count(desktest.Letter(1, 0), 100))
		bloomdbtest.Apply(t, s.DB, bloomdbtest.Drain(t, other)...)
	}
	s.Deliver(1, 3, desktest.Letter(1, 0))
	if e := s.DB.Judge(desktest.Letter(1, 0)); e.Sites != 3 || e.Count < 100 || e.OwnCount != 3 {
		t.Fatalf("%+v", e)
	}
	if o := s.MustReport("anna", desktest.Letter(1, 0)); o.Held || o.Like.Mails != 3 {
		t.Errorf("%+v", o)
	}
	s.WantListed("what one reported", desktest.Letter(1, 0), true)
}
