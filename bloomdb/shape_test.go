package bloomdb_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// paged returns a mail of one page, from a sender, with a headline and links to a domain.
func paged(sender, headline, domain string) signature.Set {
	return signature.Compute(signature.Parse(fmt.Appendf(nil, "From: <a@%s>\nSubject: %s\nContent-Type: text/html\n\n"+
		"<html><body><table width=600><tr><td><a href='http://%s/1'><img src='http://%s/2.png'></a></td></tr></table><hr>%s</body></html>",
		sender, headline, domain, domain, headline)))
}

// A page is listed when two senders' copies were reported, or one with the same link, and
// not by its structure alone. One sender's revocation takes the listing back.
func TestShapeLists(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	lists := func(asked signature.Set, by string) {
		t.Helper()
		e := db.Judge(asked)
		if e.Listed != (by != "") {
			t.Fatalf("listed %t: %+v", e.Listed, e)
		}
		if e.Listed && (e.Matches[0].Signature.Kind != signature.KindShape || e.Matches[0].By != by || e.Sites != 1) {
			t.Errorf("by %q of %v at %d sites, want %q", e.Matches[0].By, e.Matches[0].Signature.Kind, e.Sites, by)
		}
	}
	mustReportSet(t, db, paged("a.example", "parcel station", "first.example.org.ru"))
	lists(paged("b.example", "garden station", "second.example.org.uk"), "")
	lists(paged("b.example", "garden station", "other.first.example.org.ru"), "two-senders") // a weak match, with the link
	mustReportSet(t, db, paged("b.example", "doctor station", "third.org.uk"))
	lists(paged("c.example", "garden station", "second.example.org.uk"), "two-senders")
	testenv.Check(t, db.Revoke(paged("d.example", "school station", "fourth.org.uk")))
	lists(paged("c.example", "garden station", "second.example.org.uk"), "")
}

func TestShapesSwitchedOff(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports.NoShapes = true
	db := bloomdbtest.Open(t, o)
	for _, sender := range []string{"a.example", "b.example", "c.example"} {
		mustReportSet(t, db, paged(sender, "parcel station "+sender, "first.org.uk"))
	}
	if e := db.Judge(paged("d.example", "garden station", "second.org.uk")); e.Listed {
		t.Errorf("%+v", e)
	}
}
