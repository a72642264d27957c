package ledger

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// TestRefutedEarnsNothing: a report loses the credit that it had earned once others revoke it.
func TestRefutedEarnsNothing(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	v.say(Spam, "mallory", message(1, 1))
	v.say(Spam, "her friend", message(1, 1))
	for _, who := range []string{"anna", "bob"} {
		v.say(Ham, who, message(1, 1))
	}
	for _, who := range []string{"mallory", "her friend"} {
		if r, _, err := v.l.Reporter(who, v.at); err != nil || r.Reputation.Confirmed != 0 || r.Reputation.Refuted != trust.Refutation {
			t.Errorf("%s: %+v, %v", who, r.Reputation, err)
		}
	}
}

// TestOneAnchorInCommon: three words that occur in many messages neither confirm nor refute a
// reporter. A revocation of a message with only these in common has no effect.
func TestOneAnchorInCommon(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	varied := func(n int) signature.Set {
		set := message(n, n)
		set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
		return set
	}
	v.say(Spam, "anna", varied(1), Anchors{Hashes: []uint64{1, 2, 3}, Need: 2})
	if d := v.say(Ham, "emil", varied(2), Anchors{Hashes: []uint64{3, 4, 5}, Need: 2}); !d.Idle {
		t.Errorf("a revocation of an unreported message: %+v", d)
	}
	v.say(Spam, "bob", varied(3), Anchors{Hashes: []uint64{3, 6, 7}, Need: 2})
	for _, who := range []string{"carl", "dora"} { // of another message, once it was reported
		v.say(Spam, "fritz", varied(4), Anchors{Hashes: []uint64{3, 8, 9}, Need: 2})
		v.say(Ham, who, varied(4), Anchors{Hashes: []uint64{3, 8, 9}, Need: 2})
	}
	for who, refuted := range map[string]float64{"anna": 0, "bob": 0, "fritz": trust.Refutation} {
		if r, _, err := v.l.Reporter(who, v.at); err != nil || r.Reputation.Refuted != refuted || r.Reputation.Confirmed != 0 {
			t.Errorf("%s: %+v, %v; want %v refutations and no confirmation", who, r.Reputation, err, refuted)
		}
	}
}

// TestChangingOnesMind: a reporter who repeatedly reports and revokes the same message earns no
// more than one who reports it once.
func TestChangingOnesMind(t *testing.T) {
	v := voice{t: t, l: open(t, large), at: begin}
	v.say(Spam, "anna", message(1, 1))
	for range 20 {
		v.say(Spam, "mallory", message(1, 1))
		v.say(Ham, "mallory", message(1, 1))
	}
	for who, most := range map[string]float64{"mallory": 0.5, "anna": 0.5} {
		if r, _, err := v.l.Reporter(who, v.at); err != nil || r.Reputation.Confirmed > most {
			t.Errorf("%s is confirmed %v times, %v; want at most %v", who, r.Reputation.Confirmed, err, most)
		}
	}
}
