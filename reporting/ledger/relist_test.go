package ledger

import (
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestRelistingTakesTwice: while a revocation of this period has the quorum, twice the quorum is
// needed to list the message again. In the next period, or when the revocation has lost its
// supporters, the quorum suffices. If one reporter is the quorum, one other reporter suffices.
func TestRelistingTakesTwice(t *testing.T) {
	revoked := func(m trust.Model) voice {
		v := voice{t: t, l: open(t, m), at: begin}
		for _, who := range []string{"anna", "bob"} {
			v.say(Spam, who, message(1, 1))
		}
		v.say(Ham, "carl", message(1, 1))
		v.say(Ham, "dora", message(1, 1))
		return v
	}
	v := revoked(pair)
	for _, who := range []string{"emil", "fritz", "gina"} {
		if d := v.say(Spam, who, message(1, 1)); d.Action != None || d.Quorum != 4000 {
			t.Errorf("%s lists it again: %+v", who, d)
		}
	}
	v.wants(v.say(Spam, "hans", message(1, 1)), List, 2)

	v = revoked(pair)
	v.say(Spam, "emil", message(1, 1))
	v.say(Spam, "carl", message(1, 1)) // withdraws the revocation
	v.wants(v.say(Spam, "fritz", message(1, 1)), List, 2)

	v = revoked(pair)
	v.at = begin.Add(week)
	v.say(Spam, "emil", message(1, 1))
	v.wants(v.say(Spam, "fritz", message(1, 1)), List, 2)

	v = revoked(trust.Default())
	v.wants(v.say(Spam, "emil", message(1, 1)), List, 2)
}

// TestUndoOfRevoker: messages that only an undone reporter revoked are listed again. The reports
// that he refuted count again, and their reporters are no longer refuted. Messages that others
// revoked, too, stay revoked, and so do messages that nobody reports any longer.
func TestUndoOfRevoker(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(v *voice)
		relisted  int
		action    Action
	}{
		"alone":                 {func(*voice) {}, 1, List},
		"others revoke it, too": {func(v *voice) { v.say(Ham, "carl", message(1, 1)) }, 0, None},
		"nobody reports it any longer": {func(v *voice) {
			if _, err := v.l.Withdraw(Undo{Reporter: "anna", Since: begin, At: v.at}); err != nil {
				t.Fatal(err)
			}
		}, 0, None},
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, trust.Default()), at: begin}
			v.say(Spam, "anna", message(1, 1))
			v.say(Ham, "mallory", message(1, 1))
			c.meanwhile(&v)
			for _, dry := range []bool{true, false} {
				done, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at, DryRun: dry})
				if err != nil || done.Revocations != 1 || done.Relisted != c.relisted {
					t.Fatalf("dry %v: %+v, %v", dry, done, err)
				}
			}
			due, err := v.l.Due(0, 10)
			testenv.Check(t, err)
			last := None
			for _, d := range due {
				if d.Action != None {
					last = d.Action
				}
			}
			if c.action == List && last != List {
				t.Errorf("due: %+v", due)
			}
			if r, _, err := v.l.Reporter("anna", v.at); err != nil || c.action == List && r.Reputation.Refuted != 0 {
				t.Errorf("anna is refuted %v times, %v", r.Reputation.Refuted, err)
			}
		})
	}
}

// near returns message n with a sketch: messages said with the same anchors are near-duplicates.
func near(n int) signature.Set {
	set := message(n, n)
	set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
	return set
}

// TestUndoOfRevokerAfterAnotherMessage: a reporter revokes another message that shares one
// anchor with the refuted one. The refuted report counts again nevertheless.
func TestUndoOfRevokerAfterAnotherMessage(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	v.say(Spam, "anna", near(1), Anchors{Hashes: []uint64{1, 2, 3}, Need: 2})
	v.say(Ham, "mallory", message(1, 1))
	v.say(Ham, "anna", near(2), Anchors{Hashes: []uint64{3, 4, 5}, Need: 2})
	done, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at})
	if err != nil || done.Relisted != 1 {
		t.Errorf("%+v, %v; want one relisted", done, err)
	}
	if r, _, err := v.l.Reporter("anna", v.at); err != nil || r.Reputation.Refuted != 0 {
		t.Errorf("anna is refuted %v times, %v", r.Reputation.Refuted, err)
	}
}

// TestUndoOfRevokerBesideNearDuplicate: somebody else has revoked a near-duplicate. That leaves the message
// itself listed, and so does the undo: its text and body are listed again.
func TestUndoOfRevokerBesideNearDuplicate(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	anchors := Anchors{Hashes: []uint64{1, 2, 3}, Need: 2}
	v.say(Spam, "anna", near(1), anchors)
	v.say(Spam, "anna", near(2), anchors)
	v.say(Ham, "bob", near(3), anchors)
	v.say(Ham, "mallory", near(2), anchors)
	_, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at})
	testenv.Check(t, err)
	due, err := v.l.Due(0, 10)
	testenv.Check(t, err)
	if len(due) != 1 {
		t.Fatalf("due: %+v", due)
	}
	v.wants(due[0], List, 2)
}

// The undo of a reporter makes one decision for each text, whether the messages have only a phrase in common or each is a
// near-duplicate of the one before, whose anchors have the first report's opinion only.
func TestUndoDecidesOnceForEachText(t *testing.T) {
	const n = 40
	for name, hashes := range map[string]func(i uint64) []uint64{
		"a phrase in common":       func(i uint64) []uint64 { return []uint64{1, 100 + i, 1000 + i} },
		"each like the one before": func(i uint64) []uint64 { return []uint64{i, i + 1, i + 2} },
	} {
		t.Run(name, func(t *testing.T) {
			v := voice{t: t, l: open(t, trust.Default()), at: begin}
			for i := range n {
				v.say(Spam, "anna", near(i), Anchors{Hashes: hashes(uint64(i)), Need: 2})
			}
			_, err := v.l.Withdraw(Undo{Reporter: "anna", Since: begin, At: v.at})
			testenv.Check(t, err)
			due, err := v.l.Due(0, 10*n)
			testenv.Check(t, err)
			texts := map[signature.Signature]int{}
			for _, d := range due {
				for _, s := range d.Set.Signatures {
					texts[s]++
				}
			}
			for i := range n {
				for _, s := range near(i).Signatures {
					if texts[s] != 1 {
						t.Errorf("message %d: %d decisions about %s, want 1", i, texts[s], s.Kind)
					}
				}
			}
		})
	}
}
