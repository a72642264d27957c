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

// TestOneTakesNoWeight: one who revokes alone what others report, or reports alone what they revoke, takes nobody's
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

// Rings report newsletters, which others revoke. Each loses its weight, though an accomplice is always the second to
// revoke and reports the newsletter then, though each has a copy of its own, and though they are many.
func TestRingsLoseWeight(t *testing.T) {
	for name, c := range map[string]struct {
		members  int
		copies   bool
		revokers []string
		reverses bool
	}{
		"changes sides at the end": {2, false, []string{"anna", "accomplice", "bob", "carl"}, true},
		"changes sides at once":    {2, false, []string{"anna", "accomplice"}, true},
		"copies":                   {2, true, []string{"anna", "accomplice"}, false},
		"copies, without it":       {2, true, []string{"anna", "bob"}, false},
		"many":                     {17, false, []string{"anna", "accomplice"}, false},
		"many, without it":         {17, false, []string{"anna", "bob"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, pair), at: begin}
			for i := range 4 {
				of := func(n int) (signature.Set, Anchors) {
					set, hash := message(i, i), uint64(100*i)
					if c.copies {
						set = message(1000+100*i+n, 1000+100*i+n)
						set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
					}
					return set, Anchors{Hashes: []uint64{hash + 1, hash + 2, hash + 3}, Need: 3}
				}
				say := func(s Stance, who string, n int) Decision {
					if set, anchors := of(n); c.copies {
						return v.say(s, who, set, anchors)
					} else {
						return v.say(s, who, set)
					}
				}
				for n := range c.members {
					say(Spam, fmt.Sprint("member", n), n)
				}
				for n, who := range c.revokers {
					say(Ham, who, 50+n)
				}
				if c.reverses && say(Spam, "accomplice", 60).Action == List {
					t.Error("the accomplice lists it")
				}
			}
			for n := range c.members {
				if got := v.weight(fmt.Sprint("member", n)); got > 0.3 {
					t.Errorf("member%d weighs %v", n, got)
				}
			}
		})
	}
}

// A spam has a file, or is made of a newsletter's text with a file. A user who revokes other mail with the file, or has
// revoked it before, and an administrator who settles that, contradict no report of the spam's text, nor the reverse.
func TestFilesChargeNobody(t *testing.T) {
	with := func(n int) signature.Set {
		set := message(n, n)
		set.Signatures = append(set.Signatures, sign(signature.KindAttachment, 77))
		return set
	}
	for name, say := range map[string]func(v voice){
		"others' mail": func(v voice) {
			for i := range 3 {
				v.say(Spam, "anna", with(i))
				v.say(Ham, fmt.Sprint("user", i), with(50+i))
			}
		},
		"settled before": func(v voice) {
			v.say(Spam, "newcomer", with(50))
			v.say(Ham, Settler, with(50))
			for i := range 3 {
				v.say(Spam, "anna", with(i))
				v.say(Ham, "mallory", with(60+i))
			}
		},
		"reports of others' mail": func(v voice) {
			for i := range 3 {
				v.say(Spam, fmt.Sprint("user", i), with(i))
				v.say(Ham, "anna", with(50+i))
				v.say(Spam, fmt.Sprint("other", i), with(60+i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, small), at: begin}
			say(v)
			if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted != 0 {
				t.Errorf("anna is refuted %v times, %v", r.Reputation.Refuted, err)
			}
		})
	}
}

// The undo of a report gives back what it took from those who had revoked the message, and that of a revocation what
// it took from all who had reported it, although a tally remembers few of them.
func TestUndoAcquitsAll(t *testing.T) {
	for _, s := range []Stance{Spam, Ham} {
		v := voice{t: t, l: open(t, small), at: begin}
		v.say(Spam, "newcomer", message(1, 1))
		const users = 40
		for n := range users {
			v.say(1-s, fmt.Sprint("user", n), message(1, 1))
		}
		v.say(s, "mallory", message(1, 1))
		refuted := func() (sum float64) {
			for n := range users {
				r, _, err := v.l.Reporter(fmt.Sprint("user", n), v.at)
				testenv.Check(t, err)
				sum += r.Reputation.Refuted
			}
			return sum
		}
		before := refuted()
		_, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at})
		if after := refuted(); err != nil || before != float64(users)*trust.Refutation || after != 0 {
			t.Errorf("%s: refuted %v times, after the undo %v, %v", name(s), before, after, err)
		}
	}
}

// Several revoke what many have reported, and are undone. Of one who is left, each has at most one charge, and none if
// nobody is, whatever the order.
func TestUndoOfSeveral(t *testing.T) {
	const users = 30
	for name, c := range map[string]struct {
		revoked map[string][]int // which messages
		undone  []string
		want    float64 // charges of each user
	}{
		"one who agrees":           {map[string][]int{"bob": {0, 1}, "mallory": {1}}, []string{"mallory"}, 1},
		"the later of two":         {map[string][]int{"bob": {0, 1}, "mallory": {0, 1}}, []string{"mallory"}, 1},
		"both":                     {map[string][]int{"bob": {0, 1}, "mallory": {0, 1}}, []string{"bob", "mallory"}, 0},
		"both, in the other order": {map[string][]int{"bob": {0, 1}, "mallory": {0, 1}}, []string{"mallory", "bob"}, 0},
		"three":                    {map[string][]int{"bob": {0, 1}, "carl": {2, 3}, "mallory": {0, 1, 2, 3}}, []string{"bob", "carl", "mallory"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, small), at: begin}
			for i := range 4 {
				for n := range users {
					v.say(Spam, fmt.Sprint("user", n), message(i, i))
				}
			}
			for _, who := range []string{"bob", "carl", "mallory"} {
				for _, i := range c.revoked[who] {
					v.say(Ham, who, message(i, i))
				}
			}
			for _, who := range c.undone {
				_, err := v.l.Withdraw(Undo{Reporter: who, Since: begin, At: v.at})
				testenv.Check(t, err)
			}
			for n := range users {
				if r, _, err := v.l.Reporter(fmt.Sprint("user", n), v.at); err != nil || r.Reputation.Refuted > c.want*trust.Refutation {
					t.Fatalf("user%d is refuted %v times, %v", n, r.Reputation.Refuted, err)
				}
			}
		})
	}
}

// Two who have said the opposite of each other are undone, in either order. What another one revoked stays revoked, though
// one of them overruled that, and not the other.
func TestUndoOfTwoSides(t *testing.T) {
	for _, undone := range [][]string{{"mallory", "trudy"}, {"trudy", "mallory"}} {
		v := voice{t: t, l: open(t, small), at: begin}
		v.say(Spam, "anna", message(1, 1))
		v.say(Ham, "mallory", message(1, 1))
		v.say(Ham, "bob", message(1, 1))
		v.say(Spam, "trudy", message(1, 1))
		for _, who := range undone {
			_, err := v.l.Withdraw(Undo{Reporter: who, Since: begin, At: v.at})
			testenv.Check(t, err)
		}
		if list := listed(t, v.l, message(1, 1)); list[0] || list[1] {
			t.Errorf("after the undo of %v it is listed", undone)
		}
	}
}

// The undo of a report that was one of many lets the revocation count again which that report had refuted.
func TestUndoOfOneOfManyReports(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for _, who := range []string{"anna", "bob"} {
		v.say(Spam, who, message(1, 1))
	}
	v.say(Ham, "carl", message(1, 1))
	v.say(Spam, "mallory", message(1, 1))
	_, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at})
	testenv.Check(t, err)
	v.wants(v.say(Ham, "dora", message(1, 1)), Revoke, 2)
}

// A revocation that waits, and lapses, has refuted nothing, and restores nothing, though its reporter has refuted
// reports since.
func TestLapseRestoresNothing(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	waits := v.say(Ham, "mallory", message(1, 1))
	for _, w := range []string{"anna", "bob"} {
		v.say(Spam, w, message(1, 1))
	}
	for _, w := range []string{"carl", "mallory"} {
		v.say(Ham, w, message(1, 1))
	}
	v.say(Spam, "carl", message(1, 1))
	testenv.Check(t, v.l.Lapse(waits.ID, v.at))
	if list := listed(t, v.l, message(1, 1)); list[0] || list[1] {
		t.Error("it is listed")
	}
}

// A file of a report goes on counting when its text is refuted. It earns its reporter no credit then, which a
// reversal of the refutation would give twice.
func TestRefutedEarnNoCredit(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	for i := range 5 {
		text, file := message(i, i), signature.Set{Signatures: []signature.Signature{sign(signature.KindAttachment, 100+i)}}
		both := signature.Set{Signatures: append(text.Signatures[:2:2], file.Signatures...)}
		v.say(Spam, "anna", both)
		v.say(Ham, "accomplice", text)
		v.say(Spam, "friend", file)
		v.say(Spam, "accomplice", text)
	}
	if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Confirmed > 5 {
		t.Errorf("%+v, %v", r.Reputation, err)
	}
}

// A charge and a credit that are taken back have faded like the rest of the reputation.
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
		w := newUndone(t, small)
		defer w.close()
		for range rapid.IntRange(1, 25).Draw(t, "words") {
			w.say(t, []Stance{Spam})
		}
		wantWeights(t, w.with, w.now)
		plan, err := w.with.Withdraw(Undo{Reporter: "mallory", At: w.now, DryRun: true})
		testenv.Check(t, err)
		done, err := w.with.Withdraw(Undo{Reporter: "mallory", At: w.now})
		testenv.Check(t, err)
		if plan.Reports != done.Reports || plan != done && !w.isMixed { // a plan counts by words, and not by their parts
			t.Errorf("planned %+v, done %+v", plan, done)
		}
		list, err := w.with.Reporters("", 10, w.now)
		testenv.Check(t, err)
		for _, r := range list {
			if r.Name != "mallory" && r.Reputation.Refuted > 1e-9 {
				t.Errorf("%s is refuted %v times", r.Name, r.Reputation.Refuted)
			}
		}
		w.compare(t, func(with, without bool) bool { return with == without })
	})
}

// Others revoke as well. After the undo of the account, nothing is listed that would not be without it.
func TestUndoListsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := small
		m.Floor = 1 // what was said with a weight that had fallen meanwhile keeps it
		w := newUndone(t, m)
		defer w.close()
		for range rapid.IntRange(1, 25).Draw(t, "words") {
			w.say(t, []Stance{Spam, Ham})
		}
		_, err := w.with.Withdraw(Undo{Reporter: "mallory", At: w.now})
		testenv.Check(t, err)
		w.compare(t, func(with, without bool) bool { return !with || without })
	})
}

// undone are two ledgers, one with the words of mallory, and one without.
type undone struct {
	folder        string
	with, without *Ledger
	now           time.Time
	said          map[int]int // by mallory of a message
	isMixed       bool        // mallory has combined parts of messages
}

func newUndone(t *rapid.T, m trust.Model) *undone {
	folder, err := os.MkdirTemp("", "ledger")
	testenv.Check(t, err)
	w := &undone{folder: folder, now: begin, said: map[int]int{}}
	for name, l := range map[string]**Ledger{"with": &w.with, "without": &w.without} {
		*l, err = Open(Options{Path: filepath.Join(folder, name), Model: m, NoSync: true})
		testenv.Check(t, err)
	}
	return w
}

func (w *undone) close() {
	_, _ = w.with.Close(), w.without.Close()
	_ = os.RemoveAll(w.folder)
}

// say lets one of three users say one of some stances of a message, or mallory either.
func (w *undone) say(t *rapid.T, stances []Stance) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour)
	i := rapid.IntRange(0, 3).Draw(t, "message")
	e := Entry{Reporter: "mallory", Set: message(i, i), At: w.now, Period: begin.Add(w.now.Sub(begin).Truncate(week))}
	ledgers := []*Ledger{w.with}
	if rapid.Bool().Draw(t, "honest") {
		e.Reporter, ledgers = fmt.Sprint("user", rapid.IntRange(0, 2).Draw(t, "user")), append(ledgers, w.without)
	} else {
		if w.said[i]++; w.said[i] > 6 { // a tally remembers a bounded number of its words
			return
		}
		stances = []Stance{Spam, Ham}
		if rapid.Bool().Draw(t, "mixed") {
			e.Set, w.isMixed = message(i, rapid.IntRange(0, 3).Draw(t, "body")), true
		}
	}
	e.Stance = rapid.SampledFrom(stances).Draw(t, "stance")
	for _, l := range ledgers {
		d, err := l.Enter(e)
		testenv.Check(t, err)
		l.Settle(d)
	}
}

// compare fails unless what is listed with and without mallory is right.
func (w *undone) compare(t *rapid.T, isRight func(with, without bool) bool) {
	for i := range 4 {
		with, without := listed(t, w.with, message(i, i)), listed(t, w.without, message(i, i))
		for j := range with {
			if !isRight(with[j], without[j]) {
				t.Errorf("message %d, signature %d: listed %v, and %v without mallory", i, j, with[j], without[j])
			}
		}
	}
}

// listed returns which signatures of a message the tallies list.
func listed(t rapid.TB, l *Ledger, set signature.Set) (list []bool) {
	testenv.Check(t, l.view(func(x *txn) error {
		for _, g := range set.Signatures {
			y, err := x.Tally(record.SignatureKey(g))
			if err != nil {
				return err
			}
			list = append(list, y.Listed)
		}
		return nil
	}))
	return list
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

// A report that counts again has at most the weight that root has given its reporter since.
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
