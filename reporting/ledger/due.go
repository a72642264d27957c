package ledger

import (
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// putDue writes a decision that is due until it is settled.
func (t *txn) putDue(d record.Due) (uint64, error) {
	n, err := t.due.NextSequence()
	if err != nil {
		return 0, err
	}
	key := buckets.NewNumber(n)
	return n, t.due.Put(key[:], d.Encode())
}

// Due returns decisions that are not settled, in their order: at most limit of those after a
// number.
func (l *Ledger) Due(after uint64, limit int) (list []Decision, err error) {
	err = l.view(func(t *txn) error {
		first := buckets.NewNumber(after + 1)
		c := t.due.Cursor()
		for key, data := c.Seek(first[:]); key != nil && len(list) < limit; key, data = c.Next() {
			if len(key) != len(buckets.Number{}) {
				return fmt.Errorf("decision: %w key", ErrDamaged)
			}
			kept, err := record.DecodeDue(data)
			if err != nil {
				return err
			}
			d := Decision{Due: buckets.Number(key).Value(), ID: kept.Report}
			r, err := t.report(kept.Report)
			if err != nil {
				return err
			}
			if r != nil && len(r.Set.Signatures) == len(kept.Parts.Signatures) && len(r.Set.Sketches) == len(kept.Parts.Sketches) {
				parts, err := t.standing(kept, r)
				if err != nil {
					return err
				}
				if parts.Any() {
					d.Action, d.Class = kept.Action, r.Class
					d.Set, d.Places = parts.Of(r.Set)
				}
			}
			list = append(list, d) // without an action if it has no effect any longer
		}
		return nil
	})
	return list, err
}

// standing returns the parts of a decision that are still to be carried out. What was revoked
// while a listing waited must not be listed after that, in a later period.
func (t *txn) standing(kept record.Due, r *record.Report) (record.Reached, error) {
	if kept.Action != List {
		return kept.Parts, nil
	}
	sums := map[record.Key]Weight{}
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.tally(k)
		if err != nil {
			return record.Reached{}, err
		}
		sums[k] = y.Sums[Spam]
	}
	now := record.Reach(r.Set, r.Anchors, func(k record.Key) Weight { return sums[k] }, t.l.quorum)
	return kept.Parts.Without(kept.Parts.Without(now)), nil
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
