package desk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

const (
	overdueEvery = 5 * time.Second // between attempts to carry out decisions
	expireEvery  = time.Minute
	expireLooks  = 10 // as long as the filters: bloomdb/layout.KeepExpired
	dueBatch     = 256
	dueAtOnce    = 16
)

// Run carries out the decisions that a crash or a full disk has left undone, and removes
// expired reports, until ctx ends. Errors are logged, and the work is tried again.
func (d *Desk) Run(ctx context.Context) {
	overdue, expire := time.NewTicker(overdueEvery), time.NewTicker(expireEvery)
	defer overdue.Stop()
	defer expire.Stop()
	reported := faults{}
	reported.log(d.log, "revocations that waited are not known", d.loadWaiting())
	for {
		reported.log(d.log, "decisions of the ledger are not carried out yet", d.carryOutDue())
		select {
		case <-ctx.Done():
			return
		case <-overdue.C:
			reported.log(d.log, "waiting revocations are not looked at", d.actOnWaiting())
		case <-expire.C:
			reported.log(d.log, "old reports are not forgotten", d.expire(ctx))
		}
	}
}

// faults contains the last error of each repeated work, so that an error that lasts is
// logged once.
type faults map[string]string

func (f faults) log(log *slog.Logger, what string, err error) {
	switch {
	case err == nil:
		delete(f, what)
	case !errors.Is(err, bloomdb.ErrClosed) && f[what] != err.Error():
		f[what] = err.Error()
		log.Error(what, "error", err)
	}
}

// Fault returns the error that keeps reports from being written. It is nil while there is
// none.
func (d *Desk) Fault() error { return errors.Join(d.db.Fault(), d.ledger.Fault()) }

// carryOutDue carries out the ledger's due decisions, if there may be any.
func (d *Desk) carryOutDue() error {
	if !d.overdue.Swap(false) {
		return d.ledger.Flush()
	}
	return d.carryOutAll()
}

// carryOutAll carries out the due decisions, many at a time, because each waits for the disk. Their order does not
// matter, since the ledger drops what a later decision has replaced. A decision for which a filter has no room does not
// delay others: a full filter of spam is no reason not to revoke. Then the error is ErrFull, if all else was carried
// out. After an error, what is left is overdue.
func (d *Desk) carryOutAll() (err error) {
	defer func() { d.overdue.CompareAndSwap(false, err != nil) }()
	var full error
	for after := uint64(0); ; {
		due, err := d.ledger.Due(after, dueBatch)
		if err != nil {
			return err
		}
		var batch errgroup.Group
		batch.SetLimit(dueAtOnce)
		var noRoom atomic.Pointer[error]
		for _, decision := range due {
			after = decision.Due
			batch.Go(func() error {
				err := d.carryOutNow(decision)
				switch {
				case errors.Is(err, bloomdb.ErrNever), errors.Is(err, bloomdb.ErrNothing):
					d.log.Info("a decision of the ledger is given up", "report", decision.ID, "reason", err)
					return nil
				case errors.Is(err, bloomdb.ErrFull):
					noRoom.Store(&err)
					return nil
				}
				return err
			})
		}
		err = batch.Wait()
		if p := noRoom.Load(); p != nil {
			full = *p
		}
		if err != nil {
			return err
		}
		if len(due) < dueBatch {
			return cmp.Or(d.ledger.Flush(), full)
		}
	}
}

// carryOutNow carries out what of a due decision still holds. No report of the message is entered meanwhile. After a
// crash, a decision may be due that is in the filters already. It must not be carried out twice: meanwhile another site
// may have contradicted it, and a second report would be a newer word than that site's.
func (d *Desk) carryOutNow(decision ledger.Decision) error {
	defer d.order.Lock(decision.Set, d.anchors(decision.Set.Sketches))()
	now, err := d.ledger.Current(decision)
	if err != nil || now.Due == 0 {
		return err
	}
	if now.Action == ledger.List {
		if now.Set, err = d.relisted(now); err != nil {
			return err
		}
	}
	if now.Action == ledger.List && d.db.IsReported(now.Set) || now.Action == ledger.Revoke && d.db.IsRevoked(now.Set) {
		d.ledger.Settle(now)
		return nil
	}
	return d.carryOut(now)
}

// relisted returns the parts of a listing that an undo lists again: what reports list here, also a near-duplicate that the
// filters match, or at other sites without a later revocation there. A message that was listed by a file has a text, too,
// of which nobody has reported anything.
func (d *Desk) relisted(now ledger.Decision) (signature.Set, error) {
	r, err := d.ledger.Report(now.ID)
	if err != nil || r.Stance == ledger.Spam {
		return now.Set, err
	}
	stands := func(part signature.Set) bool {
		is, fault := d.stands(part)
		err = cmp.Or(err, fault)
		return is
	}
	text, _ := identity.Split(now.Set, identity.IsText)
	isText := stands(text)
	set, _ := identity.Split(now.Set, func(one signature.Set) bool {
		isOfText := identity.IsText(one)
		return isOfText && isText || !isOfText && stands(one)
	})
	return set, err
}

// stands reports whether reports list a part of a message here, as a near-duplicate also with half as many anchors as the
// ledger asks for, if this site's filter matches it; or at other sites without a later revocation there.
func (d *Desk) stands(part signature.Set) (bool, error) {
	anchors, near := d.anchors(part.Sketches), d.db.ExplainSketches(part)
	if slices.ContainsFunc(near, func(t bloomdb.SketchTrace) bool { return t.IsReportedBy(d.db.Site()) }) {
		anchors = halve(anchors)
	}
	is, err := d.ledger.Lists(part, anchors)
	return is || answer.IsReportedElsewhere(d.db.Explain(part), near, d.db.Site()), err
}

func halve(anchors []ledger.Anchors) []ledger.Anchors {
	for i := range anchors {
		anchors[i].Need = (anchors[i].Need + 1) / 2
	}
	return anchors
}

// revokeNear revokes the texts that relisted has listed because of a message of which a report or revocation has decided
// that it is revoked, if nothing else lists them. 0: the decision is not new.
func (d *Desk) revokeNear(id uint64) error {
	r, err := d.ledger.Report(id)
	text, _ := identity.Split(r.Set, identity.IsText)
	if text.Signatures = nil; err != nil || len(text.Sketches) == 0 {
		return err
	}
	list, _, err := d.ledger.Reports(ledger.Query{Set: text, Anchors: halve(d.anchors(text.Sketches)), Limit: wordsLookedAt})
	for _, r := range list {
		if err != nil || r.Stance == ledger.Spam || r.Idle || !r.Undone {
			continue
		}
		of, _ := identity.Split(r.Set, identity.IsText)
		is := false
		if is, err = d.stands(of); err == nil && !is && d.db.IsReported(of) {
			err = d.db.Revoke(of)
		}
	}
	return err
}

// expire forgets what was expired at expireLooks calls in a row, as the filters do: a start takes a clock that is days
// ahead for right, until it is corrected. Only Run calls it.
func (d *Desk) expire(ctx context.Context) error {
	if d.looks = append(d.looks, d.db.Now()); len(d.looks) < expireLooks {
		return nil
	}
	by := slices.MinFunc(d.looks, time.Time.Compare)
	d.looks = d.looks[1:]
	more, err := true, error(nil)
	for more && err == nil && ctx.Err() == nil {
		more, err = d.ledger.Expire(by)
	}
	d.loadSettled() // without what is forgotten
	return err
}
