package desk_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// Reports of one message, of its near-duplicates, and of messages that share an attachment form
// one campaign. Other reports do not. If users disagree, the campaign is contested for a week.
func TestCampaigns(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	if list, err := s.Campaigns(); err != nil || len(list) != 0 {
		t.Fatalf("of an empty ledger: %+v (%v)", list, err)
	}
	later := func() { s.Clock.Add(60) }
	for copy := range 12 {
		s.MustReport("anna", desktest.Letter(1, copy*3))
		later()
	}
	s.MustReport("bert", desktest.Letter(1, 0))
	later()
	s.MustReport("carla", desktest.Set("body a", "text a", "invoice"))
	later()
	if _, err := s.Report(desk.Report{Set: desktest.Set("body b", "text b", "invoice"), Reporter: "dora", Class: bloomdb.ClassPhish}); err != nil {
		t.Fatal(err)
	}
	later()
	s.MustReport("emil", desktest.Letter(7, 0))
	testenv.Check(t, s.DB.Count(desktest.Letter(7, 0), 5))
	list, err := s.Campaigns()
	if err != nil || len(list) != 3 {
		t.Fatalf("%d campaigns: %+v (%v)", len(list), list, err)
	}
	newest, invoice, letters := list[0], list[1], list[2]
	if newest.Reports != 1 || newest.Count != 5 || newest.Listed || !slices.Equal(newest.Reporters, []string{"emil"}) {
		t.Errorf("the newest: %+v", newest)
	}
	if invoice.Reports != 2 || invoice.Copies != 2 || !invoice.Listed || invoice.Class != bloomdb.ClassPhish || !slices.Equal(invoice.Reporters, []string{"carla", "dora"}) {
		t.Errorf("with one attachment: %+v", invoice)
	}
	if letters.Reports != 13 || letters.Copies != 12 || letters.ID != desktest.Letter(1, 0).Signatures[0].ID() || letters.First.After(letters.Last) {
		t.Errorf("near-duplicates: %+v", letters)
	}

	later()
	s.MustRevoke("emil", desktest.Letter(7, 0)) // he had reported it himself
	if contested, err := s.ContestedCampaigns(); err != nil || len(contested) != 0 {
		t.Errorf("a reporter's own revocation makes it contested: %+v (%v)", contested, err)
	}
	s.MustRevoke("fred", desktest.Letter(1, 0))
	contested, err := s.ContestedCampaigns()
	if err != nil || len(contested) != 1 || contested[0].Revocations != 1 || contested[0].Reports != 13 {
		t.Errorf("contested: %+v (%v)", contested, err)
	}
	if _, err := s.Settle(desk.Report{Set: desktest.Letter(1, 0)}, desk.SettleSpam, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	if contested, err := s.ContestedCampaigns(); err != nil || len(contested) != 0 {
		t.Errorf("a settled campaign is contested: %+v (%v)", contested, err)
	}
	s.MustReport("dora", desktest.Letter(8, 0))
	s.MustRevoke("fred", desktest.Letter(8, 0))
	if contested, err := s.ContestedCampaigns(); err != nil || len(contested) != 1 {
		t.Errorf("contested: %+v (%v)", contested, err)
	}
	s.Clock.Add(int64(7*24*time.Hour/time.Second) + 1)
	if contested, err := s.ContestedCampaigns(); err != nil || len(contested) != 0 {
		t.Errorf("after a week: %+v (%v)", contested, err)
	}
}
