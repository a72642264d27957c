package ledger

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/reporting/trust"
)

// TestTrapsTakeNoWeight: a sender sends what anna revoked to traps, in a later period. They list it, and she keeps her
// weight. Who reports it as well takes what one takes, and an undo of that one leaves nothing behind.
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
