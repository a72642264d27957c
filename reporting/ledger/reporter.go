package ledger

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// row is a reporter as the file has it.
type row struct {
	name        string
	id          uint32
	first, last time.Time // whole seconds
	reputation  trust.Reputation
	override    Weight // where fixed
	fixed       bool
	reports     uint64 // ever
	revocations uint64

	dirty bool
}

const rowBytes = 4 + 8*7 + 8 + 1

func (r *row) encode() []byte {
	b := make([]byte, 0, rowBytes)
	b = binary.BigEndian.AppendUint32(b, r.id)
	for _, v := range []uint64{
		uint64(r.first.Unix()), uint64(r.last.Unix()),
		math.Float64bits(r.reputation.Confirmed), math.Float64bits(r.reputation.Refuted), uint64(r.reputation.At.Unix()),
		r.reports, r.revocations, uint64(r.override),
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	if r.fixed {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeRow(name string, b []byte) (*row, error) {
	if len(b) != rowBytes || b[rowBytes-1] > 1 {
		return nil, fmt.Errorf("reporter %q: %w", name, ErrDamaged)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[4+8*i:]) }
	instant := func(i int) time.Time { return time.Unix(int64(at(i)), 0).UTC() }
	r := &row{
		name: name, id: binary.BigEndian.Uint32(b), first: instant(0), last: instant(1),
		reputation: trust.Reputation{Confirmed: math.Float64frombits(at(2)), Refuted: math.Float64frombits(at(3)), At: instant(4)},
		reports:    at(5), revocations: at(6), override: Weight(at(7)), fixed: b[rowBytes-1] == 1,
	}
	for _, v := range []float64{r.reputation.Confirmed, r.reputation.Refuted} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("reporter %q: %w", name, ErrDamaged)
		}
	}
	return r, nil
}

// reporter reads the row of a name; nil where there is none.
func (t *txn) reporter(name string) (*row, error) {
	data := t.reporters.Get([]byte(name))
	if data == nil {
		return nil, nil
	}
	r, err := decodeRow(name, data)
	if err != nil {
		return nil, err
	}
	if known := t.rows[r.id]; known != nil {
		return known, nil
	}
	t.rows[r.id] = r
	return r, nil
}

// reporterByID likewise.
func (t *txn) reporterByID(id uint32) (*row, error) {
	if r := t.rows[id]; r != nil {
		return r, nil
	}
	name := t.names.Get(binary.BigEndian.AppendUint32(nil, id))
	if name == nil {
		return nil, nil
	}
	return t.reporter(string(name))
}

// newReporter makes a row.
func (t *txn) newReporter(name string, now time.Time) (*row, error) {
	n, err := t.reporters.NextSequence()
	if err != nil {
		return nil, err
	}
	now = now.Truncate(time.Second).UTC()
	r := &row{name: name, id: uint32(n), first: now, last: now, reputation: trust.Reputation{At: now}, dirty: true}
	t.rows[r.id] = r
	if err := t.add(countReporters, 1); err != nil {
		return nil, err
	}
	return r, t.names.Put(binary.BigEndian.AppendUint32(nil, r.id), []byte(name))
}

// experience adds to a reporter's reputation.
func (t *txn) experience(r *row, confirmed, refuted float64, now time.Time) {
	r.reputation = t.l.opt.Model.Add(r.reputation, confirmed, refuted, now.Truncate(time.Second).UTC())
	r.dirty = true
}

// weight is what the reporter's word counts now.
func (l *Ledger) weight(r *row, trap bool, now time.Time) Weight {
	switch {
	case r != nil && r.fixed:
		return r.override
	case trap:
		return l.quorum
	case r == nil:
		return newWeight(l.opt.Model.Weight(trust.Reputation{At: now}, now))
	}
	return newWeight(l.opt.Model.Weight(r.reputation, now))
}

// flush writes the rows that a job has changed.
func (t *txn) flush() error {
	for _, r := range t.rows {
		if !r.dirty {
			continue
		}
		if err := t.reporters.Put([]byte(r.name), r.encode()); err != nil {
			return err
		}
		r.dirty = false
	}
	return nil
}
