package ledger

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestOneTakesNoWeight: who revokes alone what others report, or reports alone what they revoke, takes nobody's
// weight, however often. A second one does, and so does one who agrees later, and an administrator.
func TestOneTakesNoWeight(t *testing.T) {
	type word struct {
		by     string
		stance Stance
	}
	for name, c := range map[string]struct {
		first Stance // of anna
		after []word // about each of three messages
		want  float64
	}{
		"revoked by one":                     {Spam, []word{{"mallory", Ham}}, 1},
		"and reported by that one":           {Spam, []word{{"mallory", Ham}, {"mallory", Spam}}, 1},
		"again and again":                    {Spam, []word{{"mallory", Ham}, {"mallory", Spam}, {"mallory", Ham}}, 1},
		"two":                                {Spam, []word{{"mallory", Ham}, {"bob", Ham}}, 0},
		"two, and one changes sides":         {Spam, []word{{"mallory", Ham}, {"bob", Ham}, {"mallory", Spam}}, 0},
		"one who changes sides, and another": {Spam, []word{{"mallory", Ham}, {"mallory", Spam}, {"bob", Ham}}, 0},
		"an administrator":                   {Spam, []word{{Settler, Ham}}, 0},
		"an administrator changes sides":     {Spam, []word{{Settler, Ham}, {Settler, Spam}}, 1},
		"revocations reported by one":        {Ham, []word{{"mallory", Spam}}, 1},
		"by two":                             {Ham, []word{{"mallory", Spam}, {"bob", Spam}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, small), at: begin}
			for i := range 3 {
				if c.first == Ham {
					v.say(Spam, "newcomer", message(i, i))
				}
				v.say(c.first, "anna", message(i, i))
				for _, w := range c.after {
					v.say(w.stance, w.by, message(i, i))
				}
			}
			if w := v.weight("anna"); w != c.want {
				t.Errorf("anna weighs %v, want %v", w, c.want)
			}
		})
	}
}

// A revocation names what belongs to another message, which others revoked: they do not stand behind the rest of it.
func TestOneTakesNoWeightWithOthersParts(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	other := message(9, 9)
	v.say(Spam, "newcomer", other)
	v.say(Ham, "bob", other)
	for i := range 3 {
		v.say(Spam, "anna", message(i, i))
		both := message(i, i)
		both.Signatures = append(other.Signatures[:2:2], both.Signatures...)
		v.say(Ham, "mallory", both)
	}
	if w := v.weight("anna"); w != 1 {
		t.Errorf("anna weighs %v", w)
	}
}

// Two report newsletters. A third one of them is always the second to revoke, and reports the newsletter when all have
// revoked it: the two lose their weight nevertheless.
func TestRingLosesWeight(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for i := range 4 {
		for _, w := range []string{"mallory", "trudy"} {
			v.say(Spam, w, message(i, i))
		}
		for _, w := range []string{"anna", "accomplice", "bob", "carl"} {
			v.say(Ham, w, message(i, i))
		}
		if d := v.say(Spam, "accomplice", message(i, i)); d.Action == List {
			t.Error("the accomplice lists it")
		}
	}
	for _, w := range []string{"mallory", "trudy"} {
		if got := v.weight(w); got > 0.3 {
			t.Errorf("%s weighs %v", w, got)
		}
	}
}

// What is taken back of a charge, and of a credit, has faded like the rest of the reputation.
func TestChargeIsTakenBackOnce(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	v.say(Spam, "anna", message(1, 1))
	v.say(Ham, "bob", message(1, 1))
	v.say(Spam, "anna", message(2, 2))
	v.say(Spam, "friend", message(2, 2))
	v.say(Ham, "accomplice", message(2, 2))
	before, _, err := v.l.Reporter("anna", v.at)
	testenv.Check(t, err)
	v.at = v.at.Add(small.HalfLife)
	v.say(Spam, "accomplice", message(2, 2))
	after, _, err := v.l.Reporter("anna", v.at)
	testenv.Check(t, err)
	if before.Reputation.Refuted != 2*trust.Refutation || math.Abs(after.Reputation.Refuted-trust.Refutation/2) > 1e-9 || after.Reputation.Confirmed > 0.5+1e-9 {
		t.Errorf("%+v, then %+v", before.Reputation, after.Reputation)
	}
}

// One account says anything of anything. Nobody else loses weight by it, and after its undo all is as if it had
// never been: what others reported is listed, and nothing else, and nobody is refuted.
func TestUndoLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "ledger")
		testenv.Check(t, err)
		defer os.RemoveAll(folder)
		l, err := Open(Options{Path: filepath.Join(folder, "reports.db"), Model: small, NoSync: true})
		testenv.Check(t, err)
		defer func() { testenv.Check(t, l.Close()) }()
		now, said, reported, isMixed := begin, map[int]int{}, map[signature.Signature]bool{}, false
		say := func(s Stance, who string, set signature.Set) {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour)
			d, err := l.Enter(Entry{Stance: s, Reporter: who, At: now, Period: begin.Add(now.Sub(begin).Truncate(week)), Set: set})
			testenv.Check(t, err)
			l.Settle(d)
		}
		for range rapid.IntRange(1, 25).Draw(t, "words") {
			i := rapid.IntRange(0, 3).Draw(t, "message")
			if rapid.Bool().Draw(t, "honest") {
				set := message(i, i)
				for _, g := range set.Signatures {
					reported[g] = true
				}
				say(Spam, fmt.Sprint("user", rapid.IntRange(0, 2).Draw(t, "user")), set)
				continue
			}
			if said[i]++; said[i] > 6 { // a tally remembers a bounded number of its words
				continue
			}
			set := message(i, i)
			if rapid.Bool().Draw(t, "mixed") {
				set, isMixed = message(i, rapid.IntRange(0, 3).Draw(t, "body")), true
			}
			say(rapid.SampledFrom([]Stance{Spam, Ham}).Draw(t, "stance"), "mallory", set)
		}
		wantWeights(t, l, now)
		plan, err := l.Withdraw(Undo{Reporter: "mallory", At: now, DryRun: true})
		testenv.Check(t, err)
		done, err := l.Withdraw(Undo{Reporter: "mallory", At: now})
		testenv.Check(t, err)
		if plan.Reports != done.Reports || plan != done && !isMixed { // a plan counts by words, and not by their parts
			t.Errorf("planned %+v, done %+v", plan, done)
		}
		list, err := l.Reporters("", 10, now)
		testenv.Check(t, err)
		for _, r := range list {
			if r.Name != "mallory" && r.Reputation.Refuted > 1e-9 {
				t.Errorf("%s is refuted %v times", r.Name, r.Reputation.Refuted)
			}
		}
		testenv.Check(t, l.view(func(x *txn) error {
			for i := range 4 {
				for _, g := range message(i, i).Signatures {
					y, err := x.Tally(record.SignatureKey(g))
					if err != nil {
						return err
					}
					if y.Listed != reported[g] {
						t.Errorf("message %d: %s is listed: %v, want %v", i, g.ID(), y.Listed, reported[g])
					}
				}
			}
			return nil
		}))
	})
}

// wantWeights fails unless everybody but mallory has the weight of a newcomer or more.
func wantWeights(t *rapid.T, l *Ledger, now time.Time) {
	list, err := l.Reporters("", 10, now)
	testenv.Check(t, err)
	for _, r := range list {
		if r.Name != "mallory" && r.Weight < record.NewWeight(small.Newcomer) {
			t.Errorf("%s weighs %v", r.Name, r.Weight)
		}
	}
}

// Two of a quorum of two revoke. The undo of either lists the message again, not only that of the one who decided.
func TestUndoOfOneOfTwo(t *testing.T) {
	for _, who := range []string{"mallory", "trudy"} {
		v := voice{t: t, l: open(t, pair), at: begin}
		for _, by := range []string{"anna", "bob"} {
			v.say(Spam, by, message(1, 1))
		}
		for _, by := range []string{"mallory", "trudy"} {
			v.say(Ham, by, message(1, 1))
		}
		done, err := v.l.Withdraw(Undo{Reporter: who, Since: begin, At: v.at})
		if err != nil || done.Relisted != 1 {
			t.Errorf("undo of %s: %+v, %v", who, done, err)
		}
	}
}

// What counts again has the weight that root has given its reporter since, if that is less.
func TestUndoRevivesNobodyIgnored(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	v.say(Spam, "anna", message(1, 1))
	v.say(Ham, "mallory", message(1, 1))
	none := 0.0
	if _, err := v.l.SetWeight("anna", &none, v.at); err != nil {
		t.Fatal(err)
	}
	done, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at})
	if err != nil || done.Relisted != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
