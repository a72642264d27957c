package bloomdb_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

const (
	newsletter = "Subject: November letter\n\nDear reader, this is the November letter of the Riverside Bookshop. On Saturday the twenty " +
		"eighth Helga Winter reads from her new novel about the lighthouse keepers of the northern islands, and there is tea and cake " +
		"from six in the evening on. Tickets cost eight euros and are sold at the counter. The children's corner has been painted and " +
		"the shelves for travel literature have moved to the first floor. http://riverside-books.example.org/\n"
	// asMessage and asPart are the ways in which a spam carries a message.
	asMessage = "Content-Type: message/rfc822\n\n"
	asPart    = "Content-Type: text/plain\nX-"
)

func computed(raw string) signature.Set { return signature.Compute(signature.Parse([]byte(raw))) }

// carries returns spam of a few words of its own that carries a message.
func carries(words, how, message string) signature.Set {
	return computed("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + words + "\n--b\n" + how + message + "\n--b--\n")
}

// Reports of spam that carries a newsletter list the spam, but neither the newsletter nor its
// domain.
func TestCarriedIsNotListed(t *testing.T) {
	for _, how := range []string{asMessage, asPart} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		for i := range 4 * bloomdb.DefaultCampaigns {
			spam := carries(fmt.Sprintf("Win money today %c http://192.0.2.1/", 'a'+i), how, newsletter)
			if err := db.Report(spam, layout.ClassOther); err != nil {
				t.Fatal(err)
			}
			if !db.Judge(spam).Listed {
				t.Errorf("%q: the spam is not listed", how)
			}
		}
		if e := db.Judge(computed(newsletter)); len(e.Matches)+len(e.Weak) > 0 {
			t.Errorf("%q: the newsletter matches %v, weakly %v", how, e.Matches, e.Weak)
		}
		linking := computed("\nThe river has risen, see http://riverside-books.example.org/river for the tables of all gauges and the times of the ferry across it\n")
		if len(linking.Domains) != 1 {
			t.Fatalf("domains %v", linking.Domains)
		}
		if e := db.Judge(linking); e.Listed {
			t.Errorf("%q: a mail with the newsletter's domain matches %v", how, e.Matches)
		}
		if near := db.Judge(carries("Earn even more", how, newsletter)); !near.Listed {
			t.Errorf("%q: a near-duplicate of the spam is not listed", how)
		}
	}
}

// A newsletter on the never-list does not protect spam that carries it.
func TestCarriedNeverDoesNotShield(t *testing.T) {
	for _, how := range []string{asMessage, asPart} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		mustNever(t, db, computed(newsletter), "")
		spam := carries("Win money today", how, newsletter)
		if err := db.Report(spam, layout.ClassOther); err != nil {
			t.Fatalf("%q: %v", how, err)
		}
		if e := db.Judge(spam); !e.Listed || e.Never {
			t.Errorf("%q: %+v", how, e)
		}
		if e := db.Judge(computed(newsletter)); e.Listed {
			t.Errorf("%q: the newsletter is listed", how)
		}
	}
}

// A revocation of a message ends the listing by a domain that the message carries.
func TestCarriedDomainIsRevoked(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	for i := range bloomdb.DefaultCampaigns {
		if err := db.Report(linking(fmt.Sprint(i), "riverside-books.example.org"), layout.ClassOther); err != nil {
			t.Fatal(err)
		}
	}
	carrier, other := linking("x", "riverside-books.example.org"), linking("y", "riverside-books.example.org")
	carrier.Carried = 1
	if !db.Judge(carrier).Listed || !db.Judge(other).Listed {
		t.Fatal("the domain does not list")
	}
	if err := db.Revoke(carrier); err != nil {
		t.Fatal(err)
	}
	if db.Judge(carrier).Listed || db.Judge(other).Listed {
		t.Error("the domain lists what was revoked")
	}
}
