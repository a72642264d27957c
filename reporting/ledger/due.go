package ledger

import (
	"encoding/binary"
	"fmt"
	"math"
)

// putDue keeps a decision until it is settled.
func (t *txn) putDue(d dueDecision) (uint64, error) {
	n, err := t.due.NextSequence()
	if err != nil {
		return 0, err
	}
	key := newNumber(n)
	return n, t.due.Put(key[:], d.encode())
}

func boolByte(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// dueDecision is a decision that is not settled: an action for parts of a report's message.
type dueDecision struct {
	action Action
	report uint64
	parts  reached
}

func (d dueDecision) encode() []byte {
	b := binary.AppendUvarint([]byte{byte(d.action), boolByte(d.parts.text)}, d.report)
	for _, list := range [][]bool{d.parts.signatures, d.parts.sketches} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, on := range list {
			b = append(b, boolByte(on))
		}
	}
	return b
}

func decodeDue(data []byte) (r dueDecision, err error) {
	d := &decoder{b: data}
	r.action, r.parts.text = Action(d.byte()), d.byte() == 1
	r.report = d.number(math.MaxUint64)
	for range d.number(maxSignatures) {
		r.parts.signatures = append(r.parts.signatures, d.byte() == 1)
	}
	for range d.number(maxSketches) {
		r.parts.sketches = append(r.parts.sketches, d.byte() == 1)
	}
	if d.bad || len(d.b) > 0 || r.action != List && r.action != Revoke {
		return r, fmt.Errorf("decision: %w: %d bytes", ErrDamaged, len(data))
	}
	return r, nil
}

// Due are decisions that were not settled, in their order; at most limit of those after
// a number.
func (l *Ledger) Due(after uint64, limit int) (list []Decision, err error) {
	err = l.view(func(t *txn) error {
		first := newNumber(after + 1)
		c := t.due.Cursor()
		for key, data := c.Seek(first[:]); key != nil && len(list) < limit; key, data = c.Next() {
			if len(key) != len(number{}) {
				return fmt.Errorf("decision: %w key", ErrDamaged)
			}
			kept, err := decodeDue(data)
			if err != nil {
				return err
			}
			d := Decision{Due: number(key).value(), ID: kept.report}
			r, err := t.report(kept.report)
			if err != nil {
				return err
			}
			if r != nil && len(r.set.Signatures) == len(kept.parts.signatures) && len(r.set.Sketches) == len(kept.parts.sketches) {
				parts, err := t.standing(kept, r)
				if err != nil {
					return err
				}
				if parts.any() {
					d.Action, d.Class = kept.action, r.class
					d.Set, d.Places = parts.of(r.set)
				}
			}
			list = append(list, d) // without an action where it is of no use any longer
		}
		return nil
	})
	return list, err
}

// standing are the parts of a decision that are still to be carried out: what was taken
// back while a listing waited must not be listed after that, in a later period.
func (t *txn) standing(kept dueDecision, r *report) (reached, error) {
	if kept.action != List {
		return kept.parts, nil
	}
	sums := map[Key]Weight{}
	for _, k := range keysOf(r.set, r.anchors) {
		y, err := t.tally(k)
		if err != nil {
			return reached{}, err
		}
		sums[k] = y.sums[Spam]
	}
	now := reach(r.set, r.anchors, func(k Key) Weight { return sums[k] }, t.l.quorum)
	return kept.parts.without(kept.parts.without(now)), nil
}

// Settle says that a decision was carried out. It is forgotten with the next
// transaction, or at the latest at the Close: until then a crash brings it back.
func (l *Ledger) Settle(d Decision) {
	if d.Due != 0 {
		l.file.settle(d.Due)
	}
}

// Flush forgets what was settled, where that has not happened by the way, and after a
// fault of the disk finds out whether it is over.
func (l *Ledger) Flush() error { return l.file.flush() }
