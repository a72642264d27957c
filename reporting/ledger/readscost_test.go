package ledger

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// These tests put an unreadable record where a search must not look. A search that reads it returns ErrDamaged.

// spoilOpinion makes the opinion of a reporter unreadable.
func spoilOpinion(t *testing.T, l *Ledger, k record.Key, reporter uint32) {
	t.Helper()
	testenv.Check(t, l.commit(func(tx *txn) (refused, err error) {
		return nil, tx.Opinions.Put(record.OpinionKey(k, reporter), []byte{255})
	}))
}

// Thousands may have taken a newsletter out of their junk folders before one of them reports it, which is
// held. Then a revocation that expires or is withdrawn is one record, not a search among all others.
func TestRevocationGoesWithoutASearch(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	set := message(1, 1)
	for i := range record.MaxInline + 3 {
		v.say(Ham, fmt.Sprint("reader", i), set)
	}
	v.at = begin.Add(10 * week)
	v.holds("zoe", set)
	spoilOpinion(t, v.l, record.SignatureKey(set.Signatures[0]), record.MaxInline+3)
	if _, err := v.l.Withdraw(Undo{Reporter: "reader1", At: v.at}); err != nil {
		t.Errorf("undo: %v", err)
	}
	v.l.opt.Memory = 5 * week
	testenv.Check(t, v.l.commit(func(tx *txn) (refused, err error) {
		n, r := tx.first(v.at)
		return nil, tx.Remove(n, r)
	}))
	testenv.Check(t, v.l.view(func(tx *txn) error {
		y, err := tx.Tally(record.SignatureKey(set.Signatures[0]))
		if err == nil && !y.IsWaiting() {
			t.Error("the report does not wait any longer")
		}
		return err
	}))
}

// The reports of an anchor that are read are bounded, like those of a signature.
func TestReportsOfAnchorAreBounded(t *testing.T) {
	const most = 10_000
	l := open(t, small)
	set := signature.Set{Sketches: []signature.Sketch{{Kind: signature.KindSketch}}}
	k := record.AnchorKey(signature.KindSketch, 1)
	testenv.Check(t, l.commit(func(tx *txn) (refused, err error) {
		y := &record.Tally{}
		for n := range uint32(most + 2) {
			if err := tx.AddOpinion(k, y, record.Opinion{Reporter: n + 1, Report: uint64(n) + 1, At: begin, Weight: 1}); err != nil {
				return nil, err
			}
		}
		return nil, tx.PutTally(k, y)
	}))
	spoilOpinion(t, l, k, most+2)
	if _, _, err := l.Reports(Query{Set: set, Anchors: []Anchors{{Hashes: []uint64{1}, Need: 1}}, Limit: 1}); err != nil {
		t.Error(err)
	}
}

// A revocation looks among thousands of near-duplicates for those that only their sketch keeps listed. If a
// message has not lost its text, its anchors are not read.
func TestKeptReadsFewTallies(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	near := func(text int) (signature.Set, Anchors) {
		set := message(text, text)
		set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
		return set, Anchors{Hashes: []uint64{uint64(100 + text)}, Need: 1}
	}
	set, anchors := near(1)
	id := v.say(Spam, "anna", set, anchors).ID
	testenv.Check(t, v.l.commit(func(tx *txn) (refused, err error) {
		k := record.AnchorKey(signature.KindSketch, 101)
		return nil, tx.Tallies.Put(k[:], []byte{255})
	}))
	testenv.Check(t, v.l.view(func(tx *txn) error {
		r, err := tx.Report(id)
		if err != nil {
			return err
		}
		parts, err := tx.Kept(r, map[record.Key]bool{})
		if parts.Any() {
			t.Error("a text that has its quorum is to be revoked")
		}
		return err
	}))
}
