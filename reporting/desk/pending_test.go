package desk_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// A reporter's pending revocation stays in force although the reporter reports or revokes
// another message with a phrase in common: one common anchor of a sketch does not make them the
// same message.
func TestWaitingOutlivesACommonAnchor(t *testing.T) {
	for what, say := range map[string]func(b *desktest.Stage, other signature.Set){
		"reports": func(b *desktest.Stage, other signature.Set) { b.MustReport("root", other) },
		"revokes": func(b *desktest.Stage, other signature.Set) { b.MustRevoke("root", other) },
	} {
		t.Run(what, func(t *testing.T) {
			j := join(t, trust.Default())
			a, b := j.sites["a"], j.sites["b"]
			m, other := desktest.Texts(1, 100, 0, 0, ""), desktest.Texts(1, 25, 2, 100, "")
			if !shareAnchor(a, m, other) {
				t.Fatal("the two messages have nothing in common")
			}
			if o := b.MustRevoke("root", m); o.Waits.IsZero() {
				t.Fatalf("it does not wait: %+v", o)
			}
			say(b, other)
			a.MustReport("anna", m)
			j.exchange("a", "b")
			b.WantListed("the revocation that waited", m, false)
		})
	}
}

// shareAnchor reports whether two messages have an anchor in common.
func shareAnchor(s *desktest.Stage, m, other signature.Set) bool {
	of := func(set signature.Set) []ledger.Anchors {
		return s.Entry(ledger.Spam, desk.Report{Set: set, Reporter: "x"}, set, s.DB.Now()).Anchors
	}
	for _, x := range of(m) {
		for _, y := range of(other) {
			if slices.ContainsFunc(x.Hashes, func(h uint64) bool { return slices.Contains(y.Hashes, h) }) {
				return true
			}
		}
	}
	return false
}

// Each of a reporter's waiting revocations acts, also of messages that have phrases in common by chance: the ledger
// keeps few features of a message, and half of them say nothing.
func TestWaitingOfSeveral(t *testing.T) {
	j, random := joined{t, map[string]*desktest.Stage{}}, rand.New(rand.NewPCG(1, 0))
	for _, name := range []string{"a", "b"} {
		o := desktest.Options(t.TempDir())
		o.Site, o.Exchange, o.Reports.Capacity = name, true, 50_000
		j.sites[name] = desktest.OpenJoined(t, o, trust.Default())
	}
	words := strings.Fields("apple basket candle dragon engine forest garden harbour island jacket kettle ladder mirror needle orange pepper quarry")
	for n := range 100 {
		text := ""
		for range 90 {
			text += words[random.IntN(len(words))] + " "
		}
		m := signature.Compute(signature.Parse([]byte("Subject: x\n\n" + text + "\n")))
		j.sites["b"].MustRevoke("carl", m)
		j.sites["a"].MustReport("anna", m)
		j.exchange("a", "b")
		if j.sites["b"].DB.Judge(m).Listed {
			t.Fatalf("message %d, which was revoked in advance, is listed", n)
		}
	}
}
