package bloomdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
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

	defaultCampaigns = 3 // of layout.DomainOptions
)

func computed(raw string) signature.Set { return signature.Compute(signature.Parse([]byte(raw))) }

// carries returns a spam with a few words of its own that carries a message.
func carries(words, how, message string) signature.Set {
	return computed("Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + words + "\n--b\n" + how + message + "\n--b--\n")
}

// Reports of spam that carries a newsletter list the spam, but neither the newsletter nor its
// domain.
func TestCarriedIsNotListed(t *testing.T) {
	for _, how := range []string{asMessage, asPart} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		for i := range 4 * defaultCampaigns {
			spam := carries(fmt.Sprintf("Win money today %c http://192.0.2.1/", 'a'+i), how, newsletter)
			testenv.Check(t, db.Report(spam, layout.ClassOther))
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

// spamOffer is a spam of many words; spamNear is another copy of it.
const spamOffer = "Our members doubled their savings within eleven weeks without any risk because a retired engineer discovered how the " +
	"large exchanges settle their accounts at night. Television refuses to speak about this method and the banks try to forbid it. To take " +
	"part you open a free account on our protected page and transfer the small starting amount. A personal manager will telephone you and " +
	"guide you through the simple formalities. http://spam-offer.example/\n"

var spamNear = strings.NewReplacer("eleven", "fourteen", "free", "new").Replace(spamOffer)

// A user revokes a mail in which somebody forwarded a spam. This revokes that mail and its
// near-duplicates, but neither the near-duplicates of the spam nor its domain.
func TestRevokedCarrierClearsNoSpam(t *testing.T) {
	quote := func(text string) string { return "> " + strings.ReplaceAll(text, ". ", ".\n> ") }
	for name, forward := range map[string]func(words string) signature.Set{
		"attached":   func(words string) signature.Set { return carries(words, asMessage, "Subject: x\n\n"+spamOffer) },
		"later part": func(words string) signature.Set { return carries(words, "\n", spamOffer) },
		"quoted":     func(words string) signature.Set { return computed("\n" + words + "\n\n" + quote(spamOffer)) },
		"hidden": func(words string) signature.Set {
			return computed("Content-Type: text/html\n\n<p>" + words + "<div hidden>" + spamOffer + "</div>")
		},
		"truncated": func(words string) signature.Set {
			set := carries(words, asMessage, "Subject: x\n\n"+spamOffer)
			set.Signatures = with(signature.Set{}, signature.KindAttachment, "terms").Signatures
			return set
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
			mustReportSet(t, db, computed("\n"+spamOffer))
			reportCampaigns(t, db, "other", defaultCampaigns, "spam-offer.example")
			near, linked := computed("\n"+spamNear), linking("linked", "spam-offer.example")
			carrier, carrierNear := forward("Is this real, what do you think of it?"), forward("Should we tell our bank about this one?")
			for what, set := range map[string]signature.Set{"near-duplicate": near, "linked": linked, "carrier": carrier, "its near-duplicate": carrierNear} {
				if !db.Judge(set).Listed {
					t.Fatalf("%s: not listed before", what)
				}
			}
			testenv.Check(t, db.Revoke(carrier))
			if e := db.Judge(carrier); e.Listed {
				t.Errorf("the carrier is still listed: %+v", e.Matches)
			}
			if !db.Judge(near).Listed {
				t.Error("a near-duplicate of the spam is no longer listed")
			}
			if !db.Judge(linked).Listed {
				t.Error("the domain of the spam no longer lists")
			}
		})
	}
}

// A revoked message is not listed by a domain that it links to. The domain still lists other
// mail.
func TestCarriedDomainIsNotRevoked(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	seeOrdinaryMail(t, db)
	for i := range defaultCampaigns {
		testenv.Check(t, db.Report(linking(fmt.Sprint(i), "riverside-books.example.org"), layout.ClassOther))
	}
	carrier, other := linking("x", "riverside-books.example.org"), linking("y", "riverside-books.example.org")
	carrier.Carried = 1
	if !db.Judge(carrier).Listed || !db.Judge(other).Listed {
		t.Fatal("the domain does not list")
	}
	testenv.Check(t, db.Revoke(carrier))
	if db.Judge(carrier).Listed || !db.Judge(other).Listed {
		t.Errorf("listed: the revoked message %v, other mail %v", db.Judge(carrier).Listed, db.Judge(other).Listed)
	}
}

// If a spam has hidden links to a site, reports of it do not list the mail of that site. Visible
// links count.
func TestHiddenLinksListNothing(t *testing.T) {
	for name, link := range map[string]string{
		"comment":         "<!-- http://victim.example/ -->",
		"hidden element":  "<div style='display:none'><a href=http://victim.example/>here</a> http://victim.example/</div>",
		"hidden link":     "<a hidden href=http://victim.example/>here</a>",
		"no size":         "<a style='font-size:0' href=http://victim.example/>here</a>",
		"colour of paper": "<a style='color:#fff' href=http://victim.example/>here</a>",
		"empty link":      "<a href=http://victim.example/></a>",
		"blank link":      "<a href=http://victim.example/> &nbsp;&#8203;</a>",
		"link in a link":  "<a href=http://victim.example/><a href=http://192.0.2.1/>here</a></a>",
		"picture":         "<img src=http://victim.example/a.png>",
		"style sheet":     "<style>p{background:url(http://victim.example/a.png)}</style>",
		"script":          "<script>location='http://victim.example/'</script>",
		"refresh":         "<meta http-equiv=refresh content='0; url=http://victim.example/'>",
		"base":            "<base href=http://victim.example/>",
		"no link":         "<p href=http://victim.example/>here</p>",
		"title":           "<title>http://victim.example/</title>",
		"event":           "<p onclick=\"location='http://victim.example/'\">here</p>",
	} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		seeOrdinaryMail(t, db)
		report := func(link string) {
			for i := range 2 * defaultCampaigns {
				mustReportSet(t, db, computed(fmt.Sprintf("Content-Type: text/html\n\n<p>%s%s</p>%s", newSpam(i), "<a href=http://192.0.2.1/>buy</a>", link)))
			}
		}
		report(link)
		victims := computed("\nThe river has risen, see http://victim.example/river for the tables of all gauges and the times of the ferry across it\n")
		if e := db.Judge(victims); e.Listed || len(db.ExplainDomains(victims)) != 1 || db.ExplainDomains(victims)[0].Campaigns != 0 {
			t.Errorf("%s: listed %v, %+v", name, e.Matches, db.ExplainDomains(victims))
		}
		if spams := computed("\nAnother text with the link of the spam: http://192.0.2.1/ which readers should follow today, as is said there in many words\n"); !db.Judge(spams).Listed {
			t.Errorf("%s: the visible link does not list", name)
		}
	}
}

// newSpam returns the text of a spam that resembles no other.
func newSpam(i int) string {
	var b strings.Builder
	for j := range 40 {
		fmt.Fprintf(&b, "%s ", strings.Repeat(string(rune('a'+(i*7+j*3)%26)), 1+j%3)+string(rune('a'+(i+j)%26))+"x")
	}
	return b.String()
}
