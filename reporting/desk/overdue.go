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
	"github.com/spambloom/spambloom/reporting/desk/contest"
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
	likeLooked   = 200 // reports that an undone revocation may have ended
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

// carryOutNow carries out what of a due decision still holds. No report of the message, or of one like it, is entered
// meanwhile. After a crash, a decision may be due that is in the filters already. It must not be carried out twice:
// meanwhile another site may have contradicted it, and a second report would be a newer word than that site's.
func (d *Desk) carryOutNow(decision ledger.Decision) error {
	like, err := d.reportsLike(decision)
	if err != nil {
		return err
	}
	locked, anchors := decision.Set, d.anchors(decision.Set.Sketches)
	for _, r := range like {
		locked.Signatures, anchors = slices.Concat(locked.Signatures, r.Set.Signatures), slices.Concat(anchors, r.Anchors)
	}
	defer d.order.Lock(locked, anchors)()
	now, err := d.ledger.Current(decision)
	if err != nil || now.Due == 0 {
		return err
	}
	if now.Set, err = d.again(now, like); err != nil {
		return err
	}
	isLeft := len(now.Set.Signatures)+len(now.Set.Sketches) > 0
	if !isLeft || now.Action == ledger.List && d.db.IsReported(now.Set) || now.Action == ledger.Revoke && d.db.IsRevoked(now.Set) {
		d.ledger.Settle(now)
		return nil
	}
	return d.carryOut(now)
}

// reportsLike returns the latest reports of messages that the filters may take for a copy of one that is to be listed
// again: they share a signature with it, or half as many anchors as copies that the ledger counts together.
func (d *Desk) reportsLike(decision ledger.Decision) ([]ledger.Report, error) {
	if decision.Action != ledger.List {
		return nil, nil
	}
	q := ledger.Query{Set: decision.Set, Anchors: contest.Half(d.anchors(decision.Set.Sketches)), Limit: likeLooked}
	list, _, err := d.ledger.Reports(q)
	return slices.DeleteFunc(list, func(r ledger.Report) bool { return r.Stance == ledger.Ham }), err
}

// again returns the parts of a decision that are to be carried out. If the undo of a revocation has made it due, that is as
// if nobody had revoked the message. That may have been a mail of which a half was reported: what is listed again is what
// was reported, and of the revoked mail what other sites list without a later revocation.
func (d *Desk) again(now ledger.Decision, like []ledger.Report) (signature.Set, error) {
	r, err := d.ledger.Report(now.ID)
	if err != nil || now.Action != ledger.List || r.Stance == ledger.Spam {
		return now.Set, err
	}
	isElsewhere := func(part signature.Set) bool {
		return answer.IsReportedElsewhere(d.db.Explain(part), d.db.ExplainSketches(part), d.db.Site())
	}
	return identity.Known(now.Set, isElsewhere), d.listAgain(like)
}

// listAgain lists the parts of reports that count and are not listed, but for what another site has revoked.
func (d *Desk) listAgain(list []ledger.Report) (err error) {
	for _, r := range list {
		set, _ := identity.Split(r.Set, func(one signature.Set) bool {
			is, fault := d.ledger.Lists(one, d.anchors(one.Sketches))
			err = cmp.Or(err, fault)
			return is && !d.db.Stands(one) && !d.isRevokedBeside(one)
		})
		if len(set.Signatures)+len(set.Sketches) == 0 || err != nil {
			continue
		}
		switch err = d.db.Report(set, bloomdb.Class(r.Class)); {
		case err == nil:
			d.decided.WithLabelValues(decisionList).Inc()
		case errors.Is(err, bloomdb.ErrNever) || errors.Is(err, bloomdb.ErrNothing):
			err = nil
		}
	}
	return err
}

// isRevokedBeside reports whether another site has revoked a part of a message.
func (d *Desk) isRevokedBeside(one signature.Set) bool {
	site := d.db.Site()
	return slices.ContainsFunc(d.db.Explain(one), func(t bloomdb.Trace) bool { return t.IsRevokedBeside(site) }) ||
		slices.ContainsFunc(d.db.ExplainSketches(one), func(t bloomdb.SketchTrace) bool { return t.IsRevokedBeside(site) })
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
