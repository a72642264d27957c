package desk_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/signature"
)

// TestSignaturesOfOneAndSketchOfAnother: the signatures and the sketch of a request need not
// belong to one message. A reporter below the quorum cannot list a wanted message by combining
// its signatures with those of messages that others reported.
func TestSignaturesOfOneAndSketchOfAnother(t *testing.T) {
	spam, wanted := desktest.Letter(1, 0), desktest.Letter(2, 0)
	for name, forged := range map[string]signature.Set{
		"signatures of the wanted one, sketch of the spam": {Signatures: wanted.Signatures, Sketches: spam.Sketches},
		"signatures of the spam, sketch of the wanted one": {Signatures: spam.Signatures, Sketches: wanted.Sketches},
		"both signatures, sketch of the spam":              {Signatures: append(append([]signature.Signature(nil), spam.Signatures...), wanted.Signatures...), Sketches: spam.Sketches},
	} {
		t.Run(name, func(t *testing.T) {
			s := desktest.New(t, desktest.TwoNeeded, 0)
			s.MustReport("anna", spam)
			s.MustReport("bob", spam)
			s.MustReport("mallory", forged)
			for copy := range 3 {
				s.WantListed(fmt.Sprint("the wanted one, copy ", copy), desktest.Letter(2, copy), false)
			}
		})
		t.Run("revoked: "+name, func(t *testing.T) {
			s := desktest.New(t, desktest.TwoNeeded, 0)
			for _, who := range []string{"anna", "bob"} {
				s.MustReport(who, wanted) // here it is spam
				s.MustReport(who, spam)
			}
			s.MustRevoke("carl", spam)
			s.MustRevoke("dora", spam)
			s.MustRevoke("mallory", forged)
			s.WantListed("what one has revoked", wanted, true)
			s.WantListed("what one has revoked, a copy", desktest.Letter(2, 1), true)
		})
	}
}

// TestOwnReportTakenBackWithOthersSignatures: a reporter who withdraws a report that the quorum
// needed revokes the message reported, and no other signatures in the request.
func TestOwnReportTakenBackWithOthersSignatures(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	spam, other := desktest.Letter(1, 0), desktest.Letter(2, 0)
	s.MustReport("anna", spam)
	s.MustReport("mallory", spam)
	if err := s.DB.Report(other, 0); err != nil { // listed, as though by another site
		t.Fatal(err)
	}
	s.MustRevoke("mallory", signature.Set{Signatures: other.Signatures, Sketches: spam.Sketches})
	s.WantListed("what nobody here reported", other, true)
}

// TestConcatenated: a wanted text is appended to a spam that others have reported, as a whole or
// in part, together with its link, which supports a weak match.
func TestConcatenated(t *testing.T) {
	const link = "http://www.newsletter-shop.com/x"
	for _, words := range []int{60, 100, 160} {
		listed := 0
		for n := range 20 {
			s := desktest.New(t, desktest.TwoNeeded, 0)
			s.MustReport("anna", desktest.Texts(n, 160, 0, 0, ""))
			s.MustReport("bob", desktest.Texts(n, 160, 0, 0, ""))
			s.MustReport("mallory", desktest.Texts(n, 160, 100+n, words, link))
			if s.DB.Judge(desktest.Texts(100+n, 160, 0, 0, link)).Listed {
				listed++
			}
		}
		if listed > 0 {
			t.Errorf("%d of 20 wanted texts are listed by a reporter below the quorum, with %d words of each", listed, words)
		}
	}
}
