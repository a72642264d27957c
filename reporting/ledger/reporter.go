package ledger

import (
	"encoding/binary"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// reporter reads the reporter of a name; nil if there is none.
func (t *txn) reporter(name string) (*record.Reporter, error) {
	data := t.reporters.Get([]byte(name))
	if data == nil {
		return nil, nil
	}
	r, err := record.DecodeReporter(name, data)
	if err != nil {
		return nil, err
	}
	if known := t.rows[r.ID]; known != nil {
		return known, nil
	}
	t.rows[r.ID] = r
	return r, nil
}

// reporterByID reads the reporter of a number; nil if there is none.
func (t *txn) reporterByID(id uint32) (*record.Reporter, error) {
	if r := t.rows[id]; r != nil {
		return r, nil
	}
	name := t.names.Get(binary.BigEndian.AppendUint32(nil, id))
	if name == nil {
		return nil, nil
	}
	return t.reporter(string(name))
}

// newReporter makes a reporter.
func (t *txn) newReporter(name string, now time.Time) (*record.Reporter, error) {
	n, err := t.reporters.NextSequence()
	if err != nil {
		return nil, err
	}
	now = now.Truncate(time.Second).UTC()
	r := &record.Reporter{Name: name, ID: uint32(n), First: now, Last: now, Reputation: trust.Reputation{At: now}, Dirty: true}
	t.rows[r.ID] = r
	if err := t.add(buckets.CountReporters, 1); err != nil {
		return nil, err
	}
	return r, t.names.Put(binary.BigEndian.AppendUint32(nil, r.ID), []byte(name))
}

// experience adds to a reporter's reputation.
func (t *txn) experience(r *record.Reporter, confirmed, refuted float64, now time.Time) {
	r.Reputation = t.l.opt.Model.Add(r.Reputation, confirmed, refuted, now.Truncate(time.Second).UTC())
	r.Dirty = true
}

// weight returns the weight of a report that is made now.
func (l *Ledger) weight(r *record.Reporter, trap bool, now time.Time) Weight {
	switch {
	case r != nil && r.Fixed:
		return r.Override
	case trap:
		return l.quorum
	case r == nil:
		return record.NewWeight(l.opt.Model.Weight(trust.Reputation{At: now}, now))
	}
	return record.NewWeight(l.opt.Model.Weight(r.Reputation, now))
}

// flush writes the reporters that a job has changed.
func (t *txn) flush() error {
	for _, r := range t.rows {
		if !r.Dirty {
			continue
		}
		if err := t.reporters.Put([]byte(r.Name), r.Encode()); err != nil {
			return err
		}
		r.Dirty = false
	}
	return nil
}
