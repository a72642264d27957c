package ledger

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/reporting/trust"
)

// Reporter is a reporter, with the weight of a report that is made now.
type Reporter struct {
	Name                 string
	Weight               Weight
	Override             *Weight // set by an administrator; nil: by reputation
	Reputation           trust.Reputation
	Reports, Revocations uint64 // ever
	First, Last          time.Time
}

func (l *Ledger) publicReporter(r *record.Reporter, now time.Time) Reporter {
	p := Reporter{
		Name: r.Name, Weight: l.weight(r, false, now), Reputation: l.opt.Model.At(r.Reputation, now),
		Reports: r.Reports, Revocations: r.Revocations, First: r.First, Last: r.Last,
	}
	if r.Fixed {
		w := r.Override
		p.Override = &w
	}
	return p
}

// Reporter returns the reporter of a name. ok is false if nobody of that name has reported.
func (l *Ledger) Reporter(name string, now time.Time) (p Reporter, ok bool, err error) {
	err = l.view(func(t *txn) error {
		r, err := t.Reporter(name)
		if err == nil && r != nil {
			p, ok = l.publicReporter(r, now), true
		}
		return err
	})
	return p, ok, err
}

// Reporters returns at most limit reporters by name, after another name.
func (l *Ledger) Reporters(after string, limit int, now time.Time) (list []Reporter, err error) {
	err = l.view(func(t *txn) error {
		c := t.Reporters.Cursor()
		for name, data := c.Seek([]byte(after + "\x00")); name != nil && len(list) < limit; name, data = c.Next() {
			r, err := record.DecodeReporter(string(name), data)
			if err != nil {
				return err
			}
			list = append(list, l.publicReporter(r, now))
		}
		return nil
	})
	return list, err
}

// SetWeight sets the weight of a reporter, who need not have reported. With nil the reputation
// counts again. When the error is nil, that is on disk.
func (l *Ledger) SetWeight(name string, weight *float64, now time.Time) (p Reporter, err error) {
	if err := record.CheckName(name); err != nil {
		return p, err
	}
	err = l.commit(func(t *txn) (refused, err error) {
		r, err := t.Reporter(name)
		if err != nil {
			return nil, err
		}
		if r == nil {
			if t.Count(buckets.CountReporters) >= maxReporters {
				return ErrFull, nil
			}
			if r, err = t.NewReporter(name, now); err != nil {
				return nil, err
			}
		}
		r.Fixed, r.Override, r.Dirty = weight != nil, 0, true
		if weight != nil {
			r.Override = record.NewWeight(*weight)
		}
		p = l.publicReporter(r, now)
		return nil, t.Flush()
	})
	return p, err
}

// Status is the size of a ledger.
type Status struct {
	Reports   int64  `json:"reports"`        // that are kept
	Reporters int64  `json:"reporters"`      // that are kept
	Due       int    `json:"due"`            // decisions that are not carried out yet
	Bytes     int64  `json:"bytes"`          // of the file
	Full      bool   `json:"full,omitempty"` // no room for further reports of users
	Error     string `json:"error,omitempty"`
}

// Status takes little time, whatever the size of the ledger.
func (l *Ledger) Status() (s Status, err error) {
	err = l.view(func(t *txn) error {
		s.Reports, s.Reporters = t.Count(buckets.CountReports), t.Count(buckets.CountReporters)
		s.Due = t.Due.Stats().KeyN
		s.Bytes = t.Reports.Tx().Size()
		s.Full = s.Reports >= rows.Room(l.opt.Max, false, false)
		return nil
	})
	if fault := l.Fault(); fault != nil {
		s.Error = fault.Error()
	}
	return s, err
}
