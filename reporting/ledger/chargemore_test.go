package ledger

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestTrapsTakeNoWeight: a sender sends what anna revoked to traps, in a later period. They list it, and she keeps her
// weight. A user who reports it as well takes what one takes, and an undo of that one leaves nothing behind.
func TestTrapsTakeNoWeight(t *testing.T) {
	for name, users := range map[string][]string{"traps": nil, "and one": {"mallory"}, "and two": {"mallory", "carl"}} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, small), at: begin}
			for i := range 3 {
				v.say(Spam, "newcomer", message(i, i))
				v.say(Ham, "anna", message(i, i))
			}
			v.at = begin.Add(week)
			for i := range 3 {
				v.trap = true
				if d := v.say(Spam, fmt.Sprint("trap:", i), message(i, i)); d.Action != List {
					t.Errorf("the trap's report: %v", d)
				}
				v.trap = false
				for _, who := range users {
					v.say(Spam, who, message(i, i))
				}
				v.trap = true
				v.say(Spam, fmt.Sprint("trap:", i+3), message(i, i))
			}
			want := map[int]float64{0: 1, 1: 1, 2: 0}[len(users)]
			if w := v.weight("anna"); w != want {
				t.Errorf("anna weighs %v, want %v", w, want)
			}
			for _, who := range users {
				if _, err := v.l.Withdraw(Undo{Reporter: who, At: v.at}); err != nil {
					t.Fatal(err)
				}
			}
			if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted > 0.01 {
				t.Errorf("anna after the undo: %+v, %v", r, err)
			}
		})
	}
}

// A trap confirms nobody: a reporter who sends it spam of his own, and reports that first, gains nothing by it.
func TestTrapsConfirmNobody(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for i := range 3 {
		v.say(Spam, "mallory", message(i, i))
		v.trap = true
		v.say(Spam, "trap:a", message(i, i))
		v.trap = false
	}
	if r, _, err := v.l.Reporter("mallory", v.at); err != nil || r.Reputation.Confirmed != 0 {
		t.Errorf("mallory: %+v, %v", r, err)
	}
}

// TestSettledMistakesRemain: the undo of who was first to revoke what an administrator settled takes no mistake back.
func TestSettledMistakesRemain(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	for i := range 3 {
		v.say(Spam, "anna", message(i, i))
		v.say(Ham, "mallory", message(i, i))
		v.say(Ham, Settler, message(i, i))
	}
	if _, err := v.l.Withdraw(Undo{Reporter: "mallory", At: v.at}); err != nil {
		t.Fatal(err)
	}
	if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted != 3*trust.Refutation {
		t.Errorf("anna after the undo: %+v, %v", r, err)
	}
}

// The undo of mallory takes her part of anna's mistakes back: also where anna had believed her, and where those who
// revoked the same have taken that back.
func TestUndoOfWhoWasBelieved(t *testing.T) {
	for name, words := range map[string]func(v voice){
		"by the reporter": func(v voice) {
			v.say(Spam, "anna", message(0, 0))
			v.say(Ham, "mallory", message(0, 0))
			v.say(Ham, "anna", message(0, 0))
		},
		"by those who revoked it first": func(v voice) {
			for i, who := range []string{"bob", "carl"} {
				v.say(Spam, "anna", message(i, i))
				v.say(Ham, who, message(i, i))
				v.say(Ham, "mallory", message(i, i))
			}
			for i, who := range []string{"bob", "carl"} {
				v.say(Spam, who, message(i, i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, small), at: begin}
			words(v)
			if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted == 0 {
				t.Fatalf("anna before the undo: %+v, %v", r, err)
			}
			if _, err := v.l.Withdraw(Undo{Reporter: "mallory", At: v.at}); err != nil {
				t.Fatal(err)
			}
			if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted != 0 {
				t.Errorf("anna after the undo: %+v, %v", r, err)
			}
		})
	}
}

// Anna reports a mail and revokes a near-duplicate of it. When mallory revokes the mail, anna's own revocation is not the
// second word against her report.
func TestOwnWordIsNoSecond(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	for campaign := range 4 {
		say := func(s Stance, who string, n int) {
			set, h := message(10*campaign+n, 10*campaign+n), uint64(10*campaign)
			set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
			v.say(s, who, set, Anchors{Hashes: []uint64{h + 1, h + 2, h + 3}, Need: 3})
		}
		say(Spam, "anna", 0)
		say(Ham, "anna", 1)
		say(Ham, "mallory", 0)
	}
	if w := v.weight("anna"); w != 1 {
		t.Errorf("anna weighs %v", w)
	}
}

// At a quorum of 2, two reporters list a newsletter, and readers revoke it one after another. After each, an account, or
// a trap, reports it again with another file. The second reader's revocation counts nevertheless, but for those that
// the account's first word contradicts. The same holds of a spam that two have revoked.
func TestWhoSaysItAgainClosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		trap   bool
		stance Stance // of what stands
		by     string // one of those who made it stand, or another one
		want   int    // words of others until the opposite stands
	}{
		"one of two":                {false, Spam, "newcomer0", 2},
		"another one":               {false, Spam, "mallory", 3},
		"a trap":                    {true, Spam, "trap:a", 2},
		"one of two who revoked it": {false, Ham, "newcomer0", 4}, // what was revoked takes more reports
	} {
		t.Run(name, func(t *testing.T) {
			m := trust.Default()
			m.Quorum = 2
			v, spam := voice{t: t, l: open(t, m), at: begin}, message(1, 1)
			say := func(s Stance, who string, file int) Decision {
				v.trap = c.trap && who == c.by
				defer func() { v.trap = false }()
				set := message(1, 1)
				set.Signatures = append(set.Signatures, sign(signature.KindAttachment, file))
				return v.say(s, who, set)
			}
			if c.trap {
				say(Spam, c.by, 90)
			} else {
				v.say(Spam, "newcomer0", spam)
				v.say(Spam, "newcomer1", spam)
			}
			if c.stance == Ham {
				v.say(Ham, "newcomer0", spam)
				v.say(Ham, "newcomer1", spam)
			}
			got := 0
			for i := range 8 {
				d := v.say(1-c.stance, fmt.Sprint("reader", i), spam)
				if got++; d.Action != None {
					break
				}
				say(c.stance, c.by, 100+i)
			}
			if got != c.want {
				t.Errorf("it took %d words, want %d", got, c.want)
			}
			for i := range got {
				if w := v.weight(fmt.Sprint("reader", i)); w != 1 {
					t.Errorf("reader%d weighs %v", i, w)
				}
			}
		})
	}
}

// A ring larger than what a tally remembers loses its weight at a quorum of 1, too, where the first to revoke is always
// the same.
func TestLargeRingLosesWeight(t *testing.T) {
	for _, members := range []int{17, 41} {
		v := voice{t: t, l: open(t, small), at: begin}
		for i := range 6 {
			for n := range members {
				v.say(Spam, fmt.Sprint("member", n), message(i, i))
			}
			v.say(Ham, "anna", message(i, i))
			v.say(Ham, "bob", message(i, i))
		}
		for n := range members {
			if w := v.weight(fmt.Sprint("member", n)); w > 0.5 {
				t.Errorf("of %d, member%d weighs %v", members, n, w)
			}
		}
	}
}

// At a quorum of 3, three list a newsletter, and readers revoke it. After each, an account revokes it and reports it again:
// that changes nothing, so it contradicts only the first reader, who came before its first word. In a later period, it
// does that once more.
func TestWhoChangesSidesClosesNothing(t *testing.T) {
	m := trust.Default()
	m.Quorum = 3
	v, spam := voice{t: t, l: open(t, m), at: begin}, message(1, 1)
	for i := range 3 {
		v.say(Spam, fmt.Sprint("newcomer", i), spam)
	}
	flip := func() {
		v.say(Ham, "mallory", spam)
		v.say(Spam, "mallory", spam)
	}
	v.say(Ham, "reader0", spam)
	v.say(Spam, "mallory", spam)
	v.say(Ham, "reader1", spam)
	flip()
	v.at = begin.Add(week)
	v.say(Spam, "mallory", spam)
	for i := range 3 {
		if d := v.say(Ham, fmt.Sprint("reader", 2+i), spam); (d.Action == Revoke) != (i == 2) {
			t.Errorf("reader %d: %+v", i, d)
		}
		if i == 0 {
			flip()
		}
	}
}

// halves returns the anchors of a part of a letter of twenty, and as many of the reporter's own as fill it up.
func halves(from, to, own int) Anchors {
	a := Anchors{Need: 16}
	for h := range 20 {
		if h < from || h >= to {
			h += own
		}
		a.Hashes = append(a.Hashes, uint64(h))
	}
	return a
}

// TestIgnoredDecidesNothing: what several reporters have said of parts of a text together has the quorum, although nobody
// is refuted when others revoke the text. An ignored user's report of a copy does not list it again, nor does such a
// user's revocation take back anything.
func TestIgnoredDecidesNothing(t *testing.T) {
	for _, quorum := range []int{1, 2} {
		m := trust.Default()
		m.Quorum = float64(quorum)
		v, body := voice{t: t, l: open(t, m), at: begin}, 0
		if _, err := v.l.SetWeight("ignored", new(float64), v.at); err != nil {
			t.Fatal(err)
		}
		say := func(s Stance, who string, a Anchors) Decision {
			body++
			set := message(body, body)
			set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
			return v.say(s, who, set, a)
		}
		for i := range quorum {
			say(Spam, fmt.Sprint("games", i), halves(0, 12, 100))
			say(Spam, fmt.Sprint("man", i), halves(8, 20, 100))
		}
		for i := range quorum {
			say(Ham, fmt.Sprint("reader", i), halves(0, 20, 0))
		}
		if d := say(Spam, "ignored", halves(0, 20, 0)); d.Action != None {
			t.Errorf("quorum %d: the ignored user's report of what was revoked: %v", quorum, d.Action)
		}
		for i := range 2 * quorum {
			say(Spam, fmt.Sprint("user", i), halves(0, 20, 0))
		}
		if d := say(Ham, "ignored", halves(0, 20, 0)); len(d.Places) > 0 {
			t.Errorf("quorum %d: the ignored user's revocation of what is listed: %v", quorum, d.Action)
		}
	}
}
