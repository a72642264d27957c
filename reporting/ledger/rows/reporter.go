package rows

import (
	"encoding/binary"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
)

// Reporter reads the reporter of a name; nil if there is none.
func (t *Txn) Reporter(name string) (*record.Reporter, error) {
	data := t.Reporters.Get([]byte(name))
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

// ReporterByID reads the reporter of a number; nil if there is none.
func (t *Txn) ReporterByID(id uint32) (*record.Reporter, error) {
	if r := t.rows[id]; r != nil {
		return r, nil
	}
	name := t.Names.Get(binary.BigEndian.AppendUint32(nil, id))
	if name == nil {
		return nil, nil
	}
	return t.Reporter(string(name))
}

// NewReporter makes a reporter.
func (t *Txn) NewReporter(name string, now time.Time) (*record.Reporter, error) {
	n, err := t.Reporters.NextSequence()
	if err != nil {
		return nil, err
	}
	now = now.Truncate(time.Second).UTC()
	r := &record.Reporter{Name: name, ID: uint32(n), First: now, Last: now, Reputation: trust.Reputation{At: now}, Dirty: true}
	t.rows[r.ID] = r
	if err := t.Add(buckets.CountReporters, 1); err != nil {
		return nil, err
	}
	return r, t.Names.Put(binary.BigEndian.AppendUint32(nil, r.ID), []byte(name))
}

// Flush writes the reporters that a job has changed.
func (t *Txn) Flush() error {
	for _, r := range t.rows {
		if !r.Dirty {
			continue
		}
		if err := t.Reporters.Put([]byte(r.Name), r.Encode()); err != nil {
			return err
		}
		r.Dirty = false
	}
	return nil
}

// RemoveReporter removes a reporter who has no reports.
func (t *Txn) RemoveReporter(r *record.Reporter) error {
	delete(t.rows, r.ID)
	if err := t.Reporters.Delete([]byte(r.Name)); err != nil {
		return err
	}
	return t.Names.Delete(binary.BigEndian.AppendUint32(nil, r.ID))
}
