package reporting

import (
	"fmt"
	"net/http"
	"os/user"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// TestSignaturesOfOneAndSketchOfAnother: the signatures and the sketch of a request need
// not be of one message. Who is below the quorum lists nothing by putting those of a
// wanted one beside what others have reported.
func TestSignaturesOfOneAndSketchOfAnother(t *testing.T) {
	spam, wanted := letter(1, 0), letter(2, 0)
	for name, forged := range map[string]signature.Set{
		"signatures of the wanted one, sketch of the spam": {Signatures: wanted.Signatures, Sketches: spam.Sketches},
		"signatures of the spam, sketch of the wanted one": {Signatures: spam.Signatures, Sketches: wanted.Sketches},
		"both signatures, sketch of the spam":              {Signatures: append(append([]signature.Signature(nil), spam.Signatures...), wanted.Signatures...), Sketches: spam.Sketches},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, twoNeeded, 0)
			s.report("anna", spam)
			s.report("bob", spam)
			s.report("mallory", forged)
			for copy := range 3 {
				s.wantListed(fmt.Sprint("the wanted one, copy ", copy), letter(2, copy), false)
			}
		})
		t.Run("revoked: "+name, func(t *testing.T) {
			s := newStage(t, twoNeeded, 0)
			for _, who := range []string{"anna", "bob"} {
				s.report(who, wanted) // which is spam, here
				s.report(who, spam)
			}
			s.revoke("carl", spam)
			s.revoke("dora", spam)
			s.revoke("mallory", forged)
			s.wantListed("what one has revoked", wanted, true)
			s.wantListed("what one has revoked, a copy", letter(2, 1), true)
		})
	}
}

// TestOwnReportTakenBackWithOthersSignatures: who takes back a report that a quorum
// needed takes back what they had reported, and nothing that they name beside.
func TestOwnReportTakenBackWithOthersSignatures(t *testing.T) {
	s := newStage(t, twoNeeded, 0)
	spam, other := letter(1, 0), letter(2, 0)
	s.report("anna", spam)
	s.report("mallory", spam)
	if err := s.db.Report(other, 0); err != nil { // listed, as though by another site
		t.Fatal(err)
	}
	s.revoke("mallory", signature.Set{Signatures: other.Signatures, Sketches: spam.Sketches})
	s.wantListed("what nobody here reported", other, true)
}

// TestConcatenated: a wanted text under a spam that others have reported, as a whole or a
// part of it, and with its link, which corroborates a weak match.
func TestConcatenated(t *testing.T) {
	const link = "http://www.newsletter-shop.com/x"
	for _, words := range []int{60, 100, 160} {
		listed := 0
		for n := range 20 {
			s := newStage(t, twoNeeded, 0)
			s.report("anna", texts(n, 160, 0, 0, ""))
			s.report("bob", texts(n, 160, 0, 0, ""))
			s.report("mallory", texts(n, 160, 100+n, words, link))
			if s.db.Judge(texts(100+n, 160, 0, 0, link)).Listed {
				listed++
			}
		}
		if listed > 0 {
			t.Errorf("%d of 20 wanted texts are listed by one below the quorum, with %d words of them", listed, words)
		}
	}
}

// TestOneNameInManyCases: a name that somebody typed at a login is the same person's in
// any case, and in any form of Unicode.
func TestOneNameInManyCases(t *testing.T) {
	s := newStage(t, twoNeeded, 0)
	m := letter(1, 0)
	for _, who := range []string{"zoë@example.org", "Zoë@example.org", "ZOË@EXAMPLE.ORG", "zoe\u0308@example.org"} {
		s.report(who, m)
	}
	s.wantListed("one person's report", m, false)
	options := HandlerOptions{Decide: decide, Access: NewAccess(AccessOptions{DaemonUID: 100})}
	options.Access.names.lookup = func(string) (*user.User, error) { return &user.User{Username: "Zoë@Example.org"}, nil }
	h := NewHandler(s.Desk, options)
	for path, question := range map[string]any{"/v1/reports": TrailRequest{By: "zoë@example.ORG"}, "/v1/reporters": ReportersRequest{}} {
		if w := answerTo(h, process(1000), http.MethodPost, path, asJSON(t, question)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"zoë@example.org"`) {
			t.Errorf("%s: who has a login with capitals is answered %d %s", path, w.Code, w.Body)
		}
	}
}
