package rows

import (
	"errors"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// keptUnit is the number of signatures up to which a report counts as one kept report.
const keptUnit = 16

// Units returns the number of kept reports that a report counts as. The daemon cannot check
// that its signatures belong to one message.
func Units(signatures int) int64 { return int64(signatures+keptUnit-1) / keptUnit }

// Remove removes a report and all references to it. Of a damaged one, nil, it removes only
// the report, because its references are unknown.
func (t *Txn) Remove(n uint64, r *record.Report) error {
	key := buckets.NewNumber(n)
	if err := t.Reports.Delete(key[:]); err != nil {
		return err
	}
	if r == nil {
		return t.Add(buckets.CountReports, -1)
	}
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return err
		}
		if o, ok, err := t.OpinionOf(k, y, r.Reporter); err != nil {
			return err
		} else if ok && o.Report == n {
			if err := t.TakeOpinion(k, y, o, false); err != nil {
				return err
			}
		}
		y.Forget(n)
		if err := t.PutTally(k, y); err != nil {
			return err
		}
	}
	if err := t.By.Delete(buckets.ByKey(r.Reporter, n)); err != nil {
		return err
	}
	return errors.Join(t.Add(buckets.CountReports, -1), t.keep(r, -1))
}

// Sweep removes reporters whose reports have expired and whose reputation has faded. Each call
// reads some, from where the previous one has stopped.
func (t *Txn) Sweep(faded time.Time, batch int) error {
	c := t.Reporters.Cursor()
	name, data := c.Seek(t.Meta.Get(buckets.KeySweep))
	var gone []*record.Reporter
	for range batch {
		if name == nil {
			break
		}
		r, err := record.DecodeReporter(string(name), data)
		if err != nil {
			return err
		}
		if !r.Fixed && r.Last.Before(faded) {
			gone = append(gone, r)
		}
		name, data = c.Next()
	}
	next := slices.Clone(name)
	for _, r := range gone {
		if err := t.RemoveReporter(r); err != nil {
			return err
		}
		if err := t.dropShare(r.Name); err != nil {
			return err
		}
	}
	if err := t.Add(buckets.CountReporters, -int64(len(gone))); err != nil {
		return err
	}
	return t.Meta.Put(buckets.KeySweep, next)
}

// keep adds a report to the kept ones of its parties, or with a negative sign subtracts it.
func (t *Txn) keep(r *record.Report, sign int64) error {
	row, err := t.ReporterByID(r.Reporter)
	if err != nil {
		return err
	}
	list := []record.Party{{Kind: record.PartyOrigin, Name: r.Origin}}
	if row != nil {
		list = record.PartiesOf(row.Name, r.Origin)
	}
	for _, p := range list {
		if p.Name == "" {
			continue
		}
		s, err := t.Share(p)
		if err != nil {
			return err
		}
		s.Kept = max(s.Kept+sign*Units(len(r.Set.Signatures)), 0)
		if err := t.PutShare(p, s); err != nil {
			return err
		}
	}
	return nil
}

// dropShare removes the share of a reporter who is removed.
func (t *Txn) dropShare(reporter string) error {
	p := record.Party{Kind: record.PartyReporter, Name: reporter}
	s, err := t.Share(p)
	if err != nil {
		return err
	}
	if err := errors.Join(t.Shares.Delete(p.Key()), t.DropWays(reporter)); err != nil || s.Via == "" {
		return err
	}
	origin := record.Party{Kind: record.PartyOrigin, Name: s.Via}
	if s, err = t.Share(origin); err != nil {
		return err
	}
	s.Names = max(s.Names-1, 0)
	return t.PutShare(origin, s)
}
