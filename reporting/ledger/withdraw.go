package ledger

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Undo withdraws the reports and revocations of a reporter.
type Undo struct {
	Reporter string
	Since    time.Time // those made then or later
	At       time.Time // now
	DryRun   bool      // only count
	OnlyHam  bool      // only revocations

	// A step of an Undo of many reads at most Limit reports (0: all), those below the number
	// Before, which is Undone.Next of the step before (0: the latest).
	Limit  int
	Before uint64

	planned map[uint64]bool // of DryRun: reports that later words of this reporter would no longer have to restore
}

// Undone is the result of an Undo.
type Undone struct {
	Reports     int // that no longer count
	Revocations int // that no longer count
	Delisted    int // of Reports, those of which a part has lost the quorum; a decision is due
	Relisted    int // of Revocations, those of which a part is listed again; a decision is due
	Standing    int // of Revocations, those of which a part has lost the quorum, and nobody reports it

	Next uint64 // Before of the next step; 0: all reports were read
}

// undoBatch is the number of reports that one transaction withdraws.
const undoBatch = 200

// Withdraw withdraws the reports and revocations of a reporter. They no longer count. A
// revocation is due for each message that has lost the quorum, see Due. What they refuted counts again, unless others
// stand by that, a listing is due where reports do, and charges are taken back (restore, absolveAll).
// When the error is nil, that is on disk; after an error, a part of it may be.
func (l *Ledger) Withdraw(u Undo) (sum Undone, err error) {
	left := u.Limit
	u.planned = map[uint64]bool{}
	for {
		u.Limit = undoBatch
		if left > 0 {
			u.Limit = min(left, undoBatch)
		}
		step := l.withdrawStep
		if u.DryRun {
			step = l.planStep
		}
		done, err := step(u)
		if err != nil {
			return sum, err
		}
		sum.Reports, sum.Revocations = sum.Reports+done.Reports, sum.Revocations+done.Revocations
		sum.Delisted, sum.Relisted, sum.Standing = sum.Delisted+done.Delisted, sum.Relisted+done.Relisted, sum.Standing+done.Standing
		sum.Next = done.Next
		switch {
		case done.Next == 0 && !u.DryRun:
			return sum, l.absolveAll(u)
		case done.Next == 0 || left == u.Limit:
			return sum, nil
		}
		u.Before, left = done.Next, left-u.Limit
	}
}

func (l *Ledger) withdrawStep(u Undo) (done Undone, err error) {
	err = l.commit(func(t *txn) (refused, err error) {
		if done, err = t.withdraw(u); err != nil {
			return nil, err
		}
		return nil, t.Flush()
	})
	return done, err
}

func (l *Ledger) planStep(u Undo) (done Undone, err error) {
	err = l.view(func(t *txn) error {
		done, err = t.withdraw(u)
		return err
	})
	return done, err
}

// withdraw withdraws one step of an Undo.
func (t *txn) withdraw(u Undo) (done Undone, err error) {
	row, err := t.Reporter(u.Reporter)
	if err != nil || row == nil {
		return done, err
	}
	var numbers []uint64
	err = t.ByReporter(u.Reporter, u.Before, func(n uint64) (bool, error) {
		if len(numbers) == u.Limit {
			done.Next = numbers[len(numbers)-1]
			return false, nil
		}
		numbers = append(numbers, n)
		return true, nil
	})
	if err != nil {
		return done, err
	}
	for _, n := range numbers {
		r, err := t.Report(n)
		if err != nil {
			return done, err
		}
		if r == nil || !u.has(r) {
			continue
		}
		if err := t.withdrawOne(n, r, u, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// has reports whether a report or revocation of the reporter is withdrawn.
func (u Undo) has(r *record.Report) bool {
	return !r.At.Before(u.Since) && (!u.OnlyHam || r.Stance() == Ham)
}

// Lapse withdraws a revocation that has waited in vain.
func (l *Ledger) Lapse(n uint64, now time.Time) error {
	return l.commit(func(t *txn) (refused, err error) {
		r, err := t.Report(n)
		if err != nil || r == nil || r.Flags&record.FlagIdle == 0 {
			return nil, err
		}
		return nil, t.withdrawOne(n, r, Undo{At: now}, &Undone{})
	})
}

// withdrawOne withdraws the part of one report that still counts. The rest was renewed,
// withdrawn or refuted before, and that restores what it had refuted.
func (t *txn) withdrawOne(n uint64, r *record.Report, u Undo, done *Undone) error {
	w := &withdrawal{txn: t, n: n, r: r, u: u, tallies: map[record.Key]*record.Tally{}}
	mine, err := w.mine()
	if err != nil {
		return err
	}
	sum := func(k record.Key) Weight { return w.tallies[k].Deciding(r.Stance()) }
	before := record.Reach(r.Set, r.Anchors, sum, t.l.quorum)
	for k, o := range mine {
		w.tallies[k].Subtract(o)
		if err := t.Release(k, w.tallies[k], o); err != nil {
			return err
		}
	}
	after := record.Reach(r.Set, r.Anchors, sum, t.l.quorum)
	w.lost = before.Lost(r.Set, after)
	if r.Stance() == Ham {
		w.lost = before.Without(after) // a revoked near-duplicate revokes no text
	}
	if err := w.restore(mine); err != nil {
		return err
	}
	if len(mine)+len(w.acquitted) == 0 {
		return t.keepRefuted(n, r, u)
	}
	if len(mine) > 0 || r.Stance() == Ham {
		done.count(r.Stance(), w.lost.Any(), w.relisted().Any())
	}
	if !u.DryRun {
		return w.write(mine)
	}
	for _, n := range w.acquitted {
		u.planned[n] = true
	}
	return nil
}

// mine reads the tallies, and returns the opinions of the report that is withdrawn.
func (w *withdrawal) mine() (map[record.Key]record.Opinion, error) {
	mine := map[record.Key]record.Opinion{}
	for _, k := range record.KeysOf(w.r.Set, w.r.Anchors) {
		y, err := w.Tally(k)
		if err != nil {
			return nil, err
		}
		w.tallies[k] = y
		o, ok, err := w.OpinionOf(k, y, w.r.Reporter)
		switch {
		case err != nil:
			return nil, err
		case ok && o.Report == w.n:
			mine[k] = o
		case ok && w.u.DryRun && w.r.Stance() == Ham && !o.Ham && !w.u.OnlyHam: // its step would have withdrawn it
			y.Subtract(o)
			y.Listed = y.Listed && y.Deciding(Spam) >= w.l.quorum
		}
	}
	return mine, nil
}

// keepRefuted withdraws a report that was refuted, so that the undo of who refuted it does not
// restore it.
func (t *txn) keepRefuted(n uint64, r *record.Report, u Undo) error {
	if u.DryRun || r.Flags&record.FlagRefuted == 0 && r.Refuter == 0 {
		return nil
	}
	r.Flags, r.Refuter = r.Flags|record.FlagWithdrawn, 0
	return t.PutReport(n, r)
}

func (d *Undone) count(s Stance, lost, relisted bool) {
	if s == Spam {
		d.Reports++
		if lost {
			d.Delisted++
		}
		return
	}
	d.Revocations++
	switch {
	case relisted:
		d.Relisted++
	case lost:
		d.Standing++
	}
}

// expireBatch is the number of reports, and of reporters, that one call of Expire reads.
const expireBatch = 200

// Expire removes reports older than Memory, and reporters whose reputation has faded. It
// returns whether there may be more. One call removes some hundreds at most, so that other
// transactions do not wait.
func (l *Ledger) Expire(now time.Time) (more bool, err error) {
	oldest := now.Add(-l.opt.Memory)
	due := false
	if err := l.view(func(t *txn) error {
		n, r := t.first(now)
		due = n != 0 && (r == nil || r.At.Before(oldest))
		return nil
	}); err != nil {
		return false, err
	}
	err = l.commit(func(t *txn) (refused, err error) {
		for range expireBatch {
			n, r := t.first(now)
			if n == 0 || r != nil && !r.At.Before(oldest) {
				more = false
				return nil, t.Sweep(now.Add(-max(t.l.opt.Memory, 10*t.l.opt.Model.HalfLife)), expireBatch)
			}
			if err := t.Remove(n, r); err != nil {
				return nil, err
			}
		}
		more = due
		return nil, nil
	})
	return more, err
}

// first returns the oldest report: number 0 if there is none, and nil if it is damaged.
func (t *txn) first(now time.Time) (n uint64, oldest *record.Report) {
	key, data := t.Reports.Cursor().First()
	if len(key) != len(buckets.Number{}) {
		return 0, nil
	}
	n = buckets.Number(key).Value()
	oldest, err := record.DecodeReport(data)
	if err != nil {
		t.l.opt.Log.Warn("a report of the ledger is damaged", "report", n)
		return n, nil
	}
	oldest.At = t.MadeAt(n, oldest.At, now)
	return n, oldest
}
