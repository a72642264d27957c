package ledger

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Due returns decisions that are not settled, in their order: at most limit of those after a
// number.
func (l *Ledger) Due(after uint64, limit int) (list []Decision, err error) {
	err = l.view(func(t *txn) error {
		first := buckets.NewNumber(after + 1)
		c := t.Due.Cursor()
		for key, data := c.Seek(first[:]); key != nil && len(list) < limit; key, data = c.Next() {
			if len(key) != len(buckets.Number{}) {
				return fmt.Errorf("decision: %w key", ErrDamaged)
			}
			d, err := t.dueDecision(buckets.Number(key).Value(), data)
			if err != nil {
				return err
			}
			list = append(list, d)
		}
		return nil
	})
	return list, err
}

// Current returns a decision that is due as it is to be carried out now, without an action if
// a later one has replaced it.
func (l *Ledger) Current(d Decision) (now Decision, err error) {
	err = l.view(func(t *txn) error {
		key := buckets.NewNumber(d.Due)
		if data := t.Due.Get(key[:]); data != nil {
			now, err = t.dueDecision(d.Due, data)
		}
		return err
	})
	return now, err
}

// dueDecision reads a decision. It has no action if it has no effect any longer.
func (t *txn) dueDecision(n uint64, data []byte) (Decision, error) {
	kept, err := record.DecodeDue(data)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Due: n, ID: kept.Report}
	r, err := t.Report(kept.Report)
	if err != nil || r == nil || len(r.Set.Signatures) != len(kept.Parts.Signatures) || len(r.Set.Sketches) != len(kept.Parts.Sketches) {
		return d, err
	}
	parts, err := t.standing(kept, r)
	if err == nil && parts.Any() {
		d.Action = kept.Action
		if r.Stance() == Spam {
			d.Class = r.Class
		}
		d.Set, d.Places = parts.Of(r.Set)
	}
	return d, err
}

// standing returns the parts of a decision that are still to be carried out. What was revoked
// while a listing waited must not be listed after that, and the reverse.
func (t *txn) standing(kept record.Due, r *record.Report) (record.Reached, error) {
	still := map[record.Key]Weight{}
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return record.Reached{}, err
		}
		isRight := !y.Listed
		switch {
		case kept.Action == List && r.Stance() == Spam:
			isRight = y.Listed
		case kept.Action == List: // a revocation was undone
			isRight = !y.IsRevoked()
		}
		if isRight {
			still[k] = t.l.quorum
		}
	}
	now := record.Reach(r.Set, r.Anchors, func(k record.Key) Weight { return still[k] }, t.l.quorum)
	return kept.Parts.Without(kept.Parts.Without(now)), nil
}

// isRevocationDue reports whether the message is listed only because a revocation of it is not carried
// out yet, as after an undo.
func (w *entering) isRevocationDue() (bool, error) {
	var past []uint64
	for _, s := range w.e.Set.Signatures {
		past = append(past, w.tallies[record.SignatureKey(s)].Past...)
	}
	c := w.Due.Cursor()
	for key, data := c.First(); key != nil; key, data = c.Next() {
		due, err := record.DecodeDue(data)
		if err != nil {
			return false, err
		}
		if due.Action == Revoke && slices.Contains(past, due.Report) {
			return true, nil
		}
	}
	return false, nil
}

// Settle ends a decision that was carried out. It is removed with the next transaction, or at
// the latest by Close. Until then a crash brings it back.
func (l *Ledger) Settle(d Decision) {
	if d.Due != 0 {
		l.file.Settle(d.Due)
	}
}

// Flush removes the settled decisions if no transaction has done so. After an error of the disk
// it finds out whether the disk works again.
func (l *Ledger) Flush() error { return l.file.Flush() }
