package answer_test

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/signature"
)

func TestAnswerNamesDomain(t *testing.T) {
	d := signature.DomainSignature("spam.example")
	e := bloomdb.Evidence{Listed: true, Matches: []bloomdb.Match{{Signature: d, Domain: "spam.example"}}}
	a := answer.New(signature.Set{Domains: []string{"spam.example"}}, e)
	if a.Domain != "spam.example" || !slices.Equal(a.Kinds, []string{"domain"}) || a.ID != d.ID() {
		t.Errorf("got %+v", a)
	}
}
