package ledger

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// Undo asks for the reports of a reporter to be taken back.
type Undo struct {
	Reporter string
	Since    time.Time // those made then or later
	At       time.Time // now
	DryRun   bool      // say what would be done
}

// Undone says what was.
type Undone struct {
	Reports     int // that no longer count
	Revocations int // likewise
	Delisted    int // of the reports, those of which a part has lost the quorum: a decision is due
	Standing    int // of the revocations, those of which a part had the quorum: the filters keep it
}

// undoBatch is how many reports one transaction takes back.
const undoBatch = 200

// Withdraw takes back what a reporter said: it no longer counts, and what was listed
// and has lost the quorum is due for revocation, see Due. Nobody's reputation changes.
// When it returns nil, that is on disk; after an error, a part of it may be.
func (l *Ledger) Withdraw(u Undo) (sum Undone, err error) {
	below := uint64(0)
	for {
		step := l.withdrawStep
		if u.DryRun {
			step = l.planStep
		}
		done, next, err := step(u, below)
		if err != nil {
			return sum, err
		}
		sum.Reports, sum.Revocations = sum.Reports+done.Reports, sum.Revocations+done.Revocations
		sum.Delisted, sum.Standing = sum.Delisted+done.Delisted, sum.Standing+done.Standing
		if next == 0 {
			return sum, nil
		}
		below = next
	}
}

func (l *Ledger) withdrawStep(u Undo, below uint64) (done Undone, next uint64, err error) {
	err = l.commit(func(t *txn) (refused, err error) {
		done, next, err = t.withdraw(u, below)
		return nil, err
	})
	return done, next, err
}

func (l *Ledger) planStep(u Undo, below uint64) (done Undone, next uint64, err error) {
	err = l.view(func(t *txn) error {
		done, next, err = t.withdraw(u, below)
		return err
	})
	return done, next, err
}

// withdraw takes back the reports below a number, at most undoBatch; next is where to go
// on, 0 at the end.
func (t *txn) withdraw(u Undo, below uint64) (done Undone, next uint64, err error) {
	row, err := t.reporter(u.Reporter)
	if err != nil || row == nil {
		return done, 0, err
	}
	var numbers []uint64
	err = t.reportsBy(Query{Reporter: u.Reporter, Before: below}, func(n uint64) (bool, error) {
		if len(numbers) == undoBatch {
			next = numbers[len(numbers)-1]
			return false, nil
		}
		numbers = append(numbers, n)
		return true, nil
	})
	if err != nil {
		return done, 0, err
	}
	for _, n := range numbers {
		r, err := t.report(n)
		if err != nil {
			return done, 0, err
		}
		if r == nil || r.at.Before(u.Since) {
			continue
		}
		if err := t.withdrawOne(n, r, u, &done); err != nil {
			return done, 0, err
		}
	}
	return done, next, nil
}

// withdrawOne takes back what still counts of one report: a part may have been said
// anew, taken back or refuted, and the rest not.
func (t *txn) withdrawOne(n uint64, r *report, u Undo, done *Undone) error {
	tallies := map[Key]*tally{}
	sum := func(k Key) Weight { return tallies[k].sums[r.stance()] }
	mine := map[Key]opinion{}
	for _, k := range keysOf(r.set, r.anchors) {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		tallies[k] = y
		if o, ok, err := t.opinionOf(k, y, r.reporter); err != nil {
			return err
		} else if ok && o.report == n {
			mine[k] = o
		}
	}
	if len(mine) == 0 {
		return nil
	}
	before := reach(r.set, r.anchors, sum, t.l.quorum)
	for k, o := range mine {
		tallies[k].sums[r.stance()] -= o.weight
	}
	after := reach(r.set, r.anchors, sum, t.l.quorum)
	lost := before.lost(r.set, after)
	done.count(r.stance(), lost.any())
	if u.DryRun {
		return nil
	}
	for k, o := range mine {
		y := tallies[k]
		y.sums[r.stance()] += o.weight // which is taken away with the opinion
		if err := t.removeOpinion(k, y, o); err != nil {
			return err
		}
		if y.sums[Spam] < t.l.quorum {
			y.unlist(u.At)
		}
		if err := t.putTally(k, y); err != nil {
			return err
		}
	}
	r.flags |= flagWithdrawn
	if err := t.putReport(n, r); err != nil {
		return err
	}
	if r.stance() == Spam && lost.any() {
		_, err := t.putDue(dueDecision{Revoke, n, lost})
		return err
	}
	return nil
}

func (d *Undone) count(s Stance, lost bool) {
	switch {
	case s == Spam && lost:
		d.Delisted++
		d.Reports++
	case s == Spam:
		d.Reports++
	case lost:
		d.Standing++
		d.Revocations++
	default:
		d.Revocations++
	}
}

// expireBatch is how many reports, and reporters, one call of Expire looks at.
const expireBatch = 200

// Expire forgets reports that are older than Memory, and reporters of whom there is
// nothing left to know. It returns whether there may be more of them: it takes some
// hundreds at a time, so that others' reports do not wait.
func (l *Ledger) Expire(now time.Time) (more bool, err error) {
	oldest := now.Add(-l.opt.Memory)
	due := false
	if err := l.view(func(t *txn) error {
		n, r := t.first(now)
		due = n != 0 && (r == nil || r.at.Before(oldest))
		return nil
	}); err != nil {
		return false, err
	}
	err = l.commit(func(t *txn) (refused, err error) {
		for range expireBatch {
			n, r := t.first(now)
			if n == 0 || r != nil && !r.at.Before(oldest) {
				more = false
				return nil, t.sweep(now)
			}
			if err := t.forget(n, r); err != nil {
				return nil, err
			}
		}
		more = due
		return nil, nil
	})
	return more, err
}

// first is the oldest report; number 0 where there is none, nil where it is damaged.
func (t *txn) first(now time.Time) (n uint64, oldest *report) {
	key, data := t.reports.Cursor().First()
	if len(key) != len(number{}) {
		return 0, nil
	}
	n = number(key).value()
	oldest, err := decodeReport(data)
	if err != nil {
		t.l.opt.Log.Warn("a report of the ledger is damaged", "report", n)
		return n, nil
	}
	oldest.at = t.madeAt(n, oldest.at, now)
	return n, oldest
}

// ahead is what is known of reports that were made while the clock was ahead.
type ahead struct {
	below uint64    // of their numbers
	at    time.Time // they were made before
}

// madeAt is when a report was made at the latest. Of one that is of the future, since the
// clock was ahead then, that is the time of the next one that is not: or it would keep
// all reports after it from being forgotten until that future has come.
func (t *txn) madeAt(n uint64, at, now time.Time) time.Time {
	limit := now.Add(slack)
	if !at.After(limit) {
		return at
	}
	if n >= t.ahead.below {
		t.ahead = ahead{math.MaxUint64, now}
		c, from := t.reports.Cursor(), newNumber(n+1)
		for key, data := c.Seek(from[:]); len(key) == len(from); key, data = c.Next() {
			if r, err := decodeReport(data); err == nil && !r.at.After(limit) {
				t.ahead = ahead{number(key).value(), r.at}
				break
			}
		}
	}
	return t.ahead.at
}

// forget deletes a report and all that names it; of a damaged one, nil, only itself, as
// nobody knows what names it.
func (t *txn) forget(n uint64, r *report) error {
	key := newNumber(n)
	if err := t.reports.Delete(key[:]); err != nil {
		return err
	}
	if r == nil {
		return t.add(countReports, -1)
	}
	for _, k := range keysOf(r.set, r.anchors) {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		if o, ok, err := t.opinionOf(k, y, r.reporter); err != nil {
			return err
		} else if ok && o.report == n {
			if err := t.removeOpinion(k, y, o); err != nil {
				return err
			}
		}
		y.forget(n)
		if err := t.putTally(k, y); err != nil {
			return err
		}
	}
	if err := t.by.Delete(byKey(r.reporter, n)); err != nil {
		return err
	}
	return errors.Join(t.add(countReports, -1), t.keep(r, -1))
}

// sweep forgets reporters whose reports and experiences have all faded. Each call looks
// at some, where the one before has stopped.
func (t *txn) sweep(now time.Time) error {
	faded := now.Add(-max(t.l.opt.Memory, 10*t.l.opt.Model.HalfLife))
	c := t.reporters.Cursor()
	name, data := c.Seek(t.meta.Get(keySweep))
	var gone []*row
	for range expireBatch {
		if name == nil {
			break
		}
		r, err := decodeRow(string(name), data)
		if err != nil {
			return err
		}
		if !r.fixed && r.last.Before(faded) {
			gone = append(gone, r)
		}
		name, data = c.Next()
	}
	next := slices.Clone(name)
	for _, r := range gone {
		delete(t.rows, r.id)
		if err := t.reporters.Delete([]byte(r.name)); err != nil {
			return err
		}
		if err := t.names.Delete(binary.BigEndian.AppendUint32(nil, r.id)); err != nil {
			return err
		}
		if err := t.dropShare(r.name); err != nil {
			return err
		}
	}
	if err := t.add(countReporters, -int64(len(gone))); err != nil {
		return err
	}
	return t.meta.Put(keySweep, next)
}
