package rows

import (
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// PutAct adds an action under the next number, and removes those whose numbers are lower by that many.
func (t *Txn) PutAct(a record.Act, most int) (uint64, error) {
	n, err := t.Acts.NextSequence()
	if err != nil {
		return 0, err
	}
	key := buckets.NewNumber(n)
	if err := t.Acts.Put(key[:], a.Encode()); err != nil {
		return 0, err
	}
	for {
		oldest, _ := t.Acts.Cursor().First()
		if buckets.Number(oldest).Value()+uint64(most) > n {
			return n, nil
		}
		if err := t.Acts.Delete(oldest); err != nil {
			return 0, err
		}
	}
}

// DeleteAct removes an action.
func (t *Txn) DeleteAct(n uint64) error {
	key := buckets.NewNumber(n)
	return t.Acts.Delete(key[:])
}

// EachAct visits the actions with a number below before (0: all), the newest first, until visit
// returns false.
func (t *Txn) EachAct(before uint64, visit func(uint64, record.Act) bool) error {
	c := t.Acts.Cursor()
	key, data := c.Last()
	if before != 0 {
		below := buckets.NewNumber(before)
		if key, _ = c.Seek(below[:]); key == nil {
			key, data = c.Last()
		} else {
			key, data = c.Prev()
		}
	}
	for ; key != nil; key, data = c.Prev() {
		a, err := record.DecodeAct(data)
		if err != nil {
			return fmt.Errorf("action %x: %w", key, err)
		}
		if !visit(buckets.Number(key).Value(), a) {
			return nil
		}
	}
	return nil
}
