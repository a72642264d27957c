package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// like37 is why the reports of these tests are held.
var like37 = Likeness{Mails: 37, Senders: 12}

// holds enters a report that is held.
func (v voice) holds(who string, set signature.Set, anchors ...Anchors) Decision {
	v.t.Helper()
	d, err := v.l.Enter(Entry{
		Stance: Spam, Reporter: who, At: v.at, Period: begin.Add(v.at.Sub(begin).Truncate(week)), Set: set, Anchors: anchors, Held: like37,
	})
	if err != nil {
		v.t.Fatal(err)
	}
	v.l.Settle(d)
	return d
}

// waiting returns the number of messages of which a report waits for a second one.
func (v voice) waiting() (n int) {
	v.t.Helper()
	list, _, err := v.l.Contested(Query{Limit: 10})
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range list {
		if c.IsHeld && c.Held == like37 {
			n++
		}
	}
	return n
}

func TestHeldReport(t *testing.T) {
	tests := []struct {
		name    string
		then    func(v *voice) Decision // after anna's report, which is held
		action  Action
		parts   int
		waiting int
	}{
		{"alone", func(v *voice) Decision { return v.holds("anna", message(1, 1)) }, None, 0, 1},
		{"the same again next week, when no such mail comes any longer", func(v *voice) Decision {
			v.at = v.at.Add(week)
			return v.say(Spam, "anna", message(1, 1))
		}, None, 0, 1},
		{"a second reporter", func(v *voice) Decision { return v.holds("bob", message(1, 1)) }, List, 2, 0},
		{"a second reporter, of another body", func(v *voice) Decision { return v.holds("bob", message(1, 2)) }, List, 1, 0},
		{"a reporter without weight", func(v *voice) Decision {
			nothing := 0.0
			if _, err := v.l.SetWeight("bob", &nothing, v.at); err != nil {
				t.Fatal(err)
			}
			return v.holds("bob", message(1, 1))
		}, None, 0, 1},
		{"a trap", func(v *voice) Decision { v.trap = true; return v.say(Spam, "trap:one", message(1, 1)) }, List, 2, 0},
		{"released", func(v *voice) Decision { return v.say(Spam, Settler, message(1, 1)) }, List, 2, 0},
		{"refused", func(v *voice) Decision { return v.say(Ham, Settler, message(1, 1)) }, Revoke, 2, 0},
		{"refused, and a second reporter", func(v *voice) Decision {
			v.say(Ham, Settler, message(1, 1))
			return v.holds("bob", message(1, 1))
		}, None, 0, 0},
		{"revoked by another", func(v *voice) Decision { return v.say(Ham, "bob", message(1, 1)) }, None, 0, 1},
		{"revoked by another, and reported by a third", func(v *voice) Decision {
			v.say(Ham, "bob", message(1, 1))
			return v.holds("carl", message(1, 1))
		}, List, 2, 0},
		{"revoked by its reporter, and reported by a third", func(v *voice) Decision {
			v.say(Ham, "anna", message(1, 1))
			return v.holds("carl", message(1, 1))
		}, None, 0, 1},
		{"reported by a second, and revoked by a third", func(v *voice) Decision {
			v.holds("bob", message(1, 1))
			return v.say(Ham, "carl", message(1, 1))
		}, Revoke, 2, 0},
		{"undone, and a second reporter", func(v *voice) Decision {
			if _, err := v.l.Withdraw(Undo{Reporter: "anna", Since: begin, At: v.at}); err != nil {
				t.Fatal(err)
			}
			return v.holds("bob", message(1, 1))
		}, None, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := voice{t: t, l: open(t, trust.Default()), at: begin}
			if d := v.holds("anna", message(1, 1)); d.Action != None || !d.Held {
				t.Fatalf("first report: %+v", d)
			}
			v.wants(test.then(&v), test.action, test.parts)
			if got := v.waiting(); got != test.waiting {
				t.Errorf("waiting: %d, want %d", got, test.waiting)
			}
		})
	}
}

// A near-duplicate is the same message: its report is the second one, and lists by the sketch.
func TestHeldNearDuplicate(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	near := func(text int) (signature.Set, Anchors) {
		set := message(text, text)
		set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
		return set, Anchors{Hashes: []uint64{1, 2, 3, 4}, Need: 3}
	}
	first, anchors := near(1)
	if d := v.holds("anna", first, anchors); d.Action != None || !d.Held {
		t.Fatalf("first report: %+v", d)
	}
	own, _ := near(2)
	if d := v.holds("anna", own, anchors); d.Action != None || !d.Held {
		t.Errorf("a near-duplicate by the same reporter: %+v", d)
	}
	second, _ := near(3)
	d := v.holds("bob", second, anchors)
	v.wants(d, List, 0) // by the sketch
	if d.Held || len(d.Places) != 1 {
		t.Errorf("a near-duplicate by another: %+v", d)
	}
	if got := v.waiting(); got != 0 {
		t.Errorf("waiting: %d", got)
	}
}

// Where the second of two reporters is undone, the first waits again, and nothing is listed.
func TestHeldAgainAfterUndo(t *testing.T) {
	for _, undone := range []string{"anna", "bob", Settler} {
		t.Run(undone, func(t *testing.T) {
			v := voice{t: t, l: open(t, trust.Default()), at: begin}
			second := func() Decision { return v.holds("bob", message(1, 1)) }
			if undone == Settler {
				second = func() Decision { return v.say(Spam, Settler, message(1, 1)) }
			}
			v.holds("anna", message(1, 1))
			v.wants(second(), List, 2)
			v.at = v.at.Add(time.Hour)
			done, err := v.l.Withdraw(Undo{Reporter: undone, Since: begin, At: v.at})
			if err != nil || done.Delisted != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			due, err := v.l.Due(0, 10)
			if err != nil || len(due) != 1 || due[0].Action != Revoke {
				t.Errorf("due: %+v, %v", due, err)
			}
		})
	}
}

// A report that is held is still held after a restart.
func TestHeldSurvives(t *testing.T) {
	o := Options{Path: t.TempDir() + "/reports.db", Model: trust.Default(), NoSync: true}
	l, err := Open(o)
	testenv.Check(t, err)
	voice{t: t, l: l, at: begin}.holds("anna", message(1, 1))
	testenv.Check(t, l.Close())
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	v := voice{t: t, l: l, at: begin.Add(time.Hour)}
	if got := v.waiting(); got != 1 {
		t.Errorf("waiting: %d", got)
	}
	list, _, err := l.Reports(Query{Limit: 1})
	if err != nil || len(list) != 1 || list[0].State != Held || list[0].Held != like37 {
		t.Errorf("reports: %+v, %v", list, err)
	}
	v.wants(v.holds("bob", message(1, 1)), List, 2)
}

// A repair that recounts lost tallies finds what is held.
func TestHeldIsRecounted(t *testing.T) {
	o := Options{Path: t.TempDir() + "/reports.db", Model: trust.Default(), NoSync: true}
	l, err := Open(o)
	testenv.Check(t, err)
	v := voice{t: t, l: l, at: begin}
	v.holds("anna", message(1, 1))
	err = l.commit(func(tx *txn) (refused, err error) {
		for _, s := range message(1, 1).Signatures {
			k := record.SignatureKey(s)
			err = errors.Join(err, tx.Tallies.Delete(k[:]))
		}
		return nil, errors.Join(err, tx.Meta.Delete(buckets.KeyVersion))
	})
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if done, err := Repair(o); err != nil || done.Tallies != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if v.l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer v.l.Close()
	if got := v.waiting(); got != 1 {
		t.Errorf("waiting: %d", got)
	}
	v.wants(v.holds("bob", message(1, 1)), List, 2)
}
