package rows

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// PutAct adds an action under the next number, and removes the oldest ones beyond so many.
func (t *Txn) PutAct(a record.Act, most int) (uint64, error) {
	n, err := t.Acts.NextSequence()
	if err != nil {
		return 0, err
	}
	key := buckets.NewNumber(n)
	if err := t.Acts.Put(key[:], a.Encode()); err != nil {
		return 0, err
	}
	var old [][]byte
	c, kept := t.Acts.Cursor(), 0
	for key, _ := c.Last(); key != nil; key, _ = c.Prev() {
		if kept++; kept > most {
			old = append(old, slices.Clone(key))
		}
	}
	for _, key := range old {
		if err := t.Acts.Delete(key); err != nil {
			return 0, err
		}
	}
	return n, nil
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
