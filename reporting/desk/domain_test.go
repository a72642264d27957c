package desk_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// inventedFor returns a request that was not computed from a mail, with a victim's domain.
func inventedFor(random *rand.Rand, domain string) signature.Set {
	set := noise(random, 1)
	set.Signatures[0].Kind = signature.KindText
	set.Domains = []string{domain}
	return set
}

// Reports of invented messages list a link domain if they reach the quorum, and only until their
// reporter is undone.
func TestInventedReportsOfADomain(t *testing.T) {
	const victim = "victim.example"
	for _, tt := range []struct {
		name   string
		model  trust.Model
		listed bool // by one reporter
	}{{"quorum of one", trust.Default(), true}, {"quorum of two", desktest.TwoNeeded, false}} {
		s, random := desktest.New(t, tt.model, 0), rand.New(rand.NewPCG(1, 2))
		mail := inventedFor(random, victim)
		for range 9_300 { // innocent mail, without which no domain lists alone
			testenv.Check(t, s.DB.CountDomains(inventedFor(random, "friend.example"), bloomdb.Evidence{}, 1))
		}
		for range 3 { // domains.campaigns
			if _, err := s.Report(desk.Report{Set: inventedFor(random, victim), Reporter: "mallory"}); err != nil {
				t.Fatal(err)
			}
		}
		s.WantListed(tt.name, mail, tt.listed)
		ask := api.UndoRequest{By: "mallory", Since: time.Unix(s.Clock.Load(), 0).Add(-time.Hour)}
		if _, err := s.Undo(ask, desk.Author{}); err != nil {
			t.Fatal(err)
		}
		s.WantListed(tt.name+", undone", mail, false)
	}
}
