package search

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Contest is a message that some reporters reported and others revoked, or of which a report
// waits for a second reporter.
type Contest struct {
	Report   uint64          // the latest report or revocation of it
	Set      signature.Set   // of that report
	At       time.Time       // of that report
	Reports  int             // that are kept, without revocations
	Revoked  int             // revocations that are kept
	By       []string        // who reported it last
	Revokers []string        // who revoked it last
	Settled  *record.Stance  // by an administrator; nil: it is not
	IsHeld   bool            // a report waits
	Held     record.Likeness // why
}

// MaxVisits bounds the reports that one call of Reports reads. That of Contested begins no further
// message after so many, and a message has at most maxOfMessage of package rows.
const MaxVisits = 10_000

// Contested returns messages that different people reported and revoked, and those of which a
// report waits for a second reporter or an administrator, the latest first, and
// the Before of the next page; 0 if there are no more. Near-duplicates are messages of their own.
// Of the query it goes by Since, Before and Limit.
func (l *Search) Contested(q Query) (list []Contest, next uint64, err error) {
	seen := map[record.Key]bool{}
	visits := 0
	err = l.view(func(t *txn) error {
		return t.All(q.Since, q.Before, func(n uint64) (more bool, err error) {
			if visits++; visits > MaxVisits || len(list) == q.Limit {
				next = n + 1
				return false, nil
			}
			r, err := t.Report(n)
			if err != nil || r == nil || r.At.Before(q.Since) {
				return true, err
			}
			key := record.SignatureKey(r.Set.Signatures[0])
			if seen[key] {
				return true, nil
			}
			seen[key] = true
			c, ok, err := t.contest(n, r)
			visits += c.Reports + c.Revoked
			if ok {
				list = append(list, c)
			}
			return true, err
		})
	})
	return list, next, err
}

// contest gathers what was said of the message of a report. ok is false if nobody contradicts
// anybody else, and no report waits.
func (t *txn) contest(n uint64, r *record.Report) (c Contest, ok bool, err error) {
	c = Contest{Report: n, Set: r.Set, At: r.At}
	last := map[string]record.Stance{}
	said := [2]map[string]bool{{}, {}}
	err = t.OfMessage(signature.Set{Signatures: r.Set.Signatures[:1]}, nil, 0, func(n uint64) (bool, error) {
		o, err := t.Report(n)
		if err != nil || o == nil {
			return true, err
		}
		row, err := t.ReporterByID(o.Reporter)
		if err != nil || row == nil {
			return true, err
		}
		if row.Name == record.Settler {
			if o.State() == record.Counts && c.Settled == nil {
				stance := o.Stance()
				c.Settled = &stance
			}
			return true, nil
		}
		isHeld, err := t.isHeld(n, o)
		c.IsHeld = c.IsHeld || isHeld
		if c.Held.Mails == 0 {
			c.Held = o.Held
		}
		c.add(o, row.Name, last)
		said[o.Stance()][row.Name] = true
		return true, err
	})
	c.IsHeld = c.IsHeld && c.Settled == nil
	ok = c.IsHeld
	slices.Sort(c.By)
	slices.Sort(c.Revokers)
	for name := range said[record.Spam] {
		ok = ok || len(said[record.Ham]) > 1 || len(said[record.Ham]) == 1 && !said[record.Ham][name]
	}
	return c, ok, err
}

// add counts a report. Reports come newest first, so the first one of a reporter is the last.
func (c *Contest) add(r *record.Report, reporter string, last map[string]record.Stance) {
	if r.Stance() == record.Spam {
		c.Reports++
	} else {
		c.Revoked++
	}
	if _, known := last[reporter]; known {
		return
	}
	if last[reporter] = r.Stance(); r.Stance() == record.Spam {
		c.By = append(c.By, reporter)
	} else {
		c.Revokers = append(c.Revokers, reporter)
	}
}
