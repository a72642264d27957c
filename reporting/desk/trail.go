package desk

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/desk/reserve"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// ErrNoReporter is the error for a name under which nobody has reported.
var ErrNoReporter = errors.New("there is no reporter")

// ErrNoReport is the error for the number of a report that is not kept.
var ErrNoReport = errors.New("there is no report")

// maxPage bounds the list of one answer.
const maxPage = 1000

func page(limit int) int { return min(cmp.Or(max(limit, 0), maxPage), maxPage) }

// Trail returns a page of the reports that are kept, with the names of all reporters. Set
// is the message of the request; an empty set matches every report.
func (d *Desk) Trail(ask api.TrailRequest, set signature.Set) (api.ReportTrail, error) {
	set = d.db.Essence(set)
	list, next, err := d.ledger.Reports(ledger.Query{
		Set: set, Anchors: d.anchors(set.Sketches),
		Reporter: api.FoldReporter(ask.By), Since: ask.Since, Before: ask.Before, Limit: page(ask.Limit),
	})
	if err != nil {
		return api.ReportTrail{}, err
	}
	trail := api.ReportTrail{Reports: make([]api.Reported, len(list)), Next: next}
	for i, l := range list {
		trail.Reports[i] = answer.Reported(l)
	}
	return trail, nil
}

// Contested returns a page of the messages that different people reported and revoked, or of which
// a report is held.
func (d *Desk) Contested(ask api.ContestedRequest) (api.Contested, error) {
	list, next, err := d.ledger.Contested(ledger.Query{Since: ask.Since, Before: ask.Before, Limit: page(ask.Limit)})
	if err != nil {
		return api.Contested{}, err
	}
	contested := api.Contested{Messages: make([]api.ContestedMessage, len(list)), Next: next}
	for i, c := range list {
		contested.Messages[i] = answer.Contested(c, d.db.Judge(c.Set).Listed)
		if c.Settled != nil {
			contested.Messages[i].Settled = settledAs(*c.Settled)
		}
	}
	return contested, nil
}

func settledAs(s ledger.Stance) string {
	if s == ledger.Spam {
		return SettleSpam
	}
	return SettleWanted
}

// Undo withdraws what a reporter reported and revoked. When the error is nil, that is on
// disk, every message that has lost its quorum is revoked, and every one that nobody else
// revoked is listed again, or in the next period if this one has no room. After an error, a
// part of that may have happened. ErrNoReporter if nobody has that name.
func (d *Desk) Undo(ask api.UndoRequest, by Author) (api.Undone, error) {
	ask.By = api.FoldReporter(ask.By)
	if _, err := d.reporter(ask.By); err != nil {
		return api.Undone{}, err
	}
	if ask.DryRun {
		would, err := d.withdraw(ask, by)
		return api.Undone(would), err
	}
	if ask.By == ledger.Settler {
		d.undoing.Lock() // until loadSettled: a report would go by what is no longer settled
		defer d.undoing.Unlock()
	}
	done, err := d.undo.Steps(ask, func(step api.UndoRequest) (api.Undone, error) { return d.undoStep(step, by) })
	if err == nil || done != (api.Undone{}) {
		d.log.Info("undo accepted", "of", ask.By, "since", ask.Since, "by", by.Name, by.Origin.Attr(),
			"reports", done.Reports, "revocations", done.Revocations, "delisted", done.Delisted, "relisted", done.Relisted)
	}
	d.loadSettled()
	return done, err
}

// undoStep withdraws as much as the request's limit and the period's room allow.
func (d *Desk) undoStep(ask api.UndoRequest, by Author) (api.Undone, error) {
	limit, err := reserve.Limit(d.db.Status(), ask, func(plan api.UndoRequest) (ledger.Undone, error) { return d.withdraw(plan, by) })
	if err != nil {
		return api.Undone{}, d.named(err, d.db.Now())
	}
	ask.Limit = limit
	done, err := d.withdraw(ask, by)
	if err != nil {
		return api.Undone{}, err
	}
	if err = d.carryOutAll(); errors.Is(err, bloomdb.ErrFull) {
		err = nil // what has no room stays due: further steps do not wait for it
	}
	return api.Undone(done), err
}

// withdraw withdraws the reports in the ledger. Of the steps of one request, the first one is noted.
func (d *Desk) withdraw(ask api.UndoRequest, by Author) (done ledger.Undone, err error) {
	undo := ledger.Undo{Reporter: ask.By, Since: ask.Since, At: d.db.Now(), DryRun: ask.DryRun, Limit: ask.Limit, Before: ask.Before}
	withdraw := func() (err error) {
		done, err = d.ledger.Withdraw(undo)
		return err
	}
	if ask.DryRun || ask.Before != 0 {
		err = withdraw()
	} else {
		err = d.noted(by, "undo", ask.By+" since "+ask.Since.UTC().Format("2006-01-02 15:04 UTC"), signature.Set{}, withdraw)
	}
	return done, err
}

func (d *Desk) reporter(name string) (ledger.Reporter, error) {
	r, ok, err := d.ledger.Reporter(name, d.db.Now())
	if err == nil && !ok {
		err = fmt.Errorf("%w %q", ErrNoReporter, name)
	}
	return r, err
}

// Reporters returns a page of reporters, or the one that is named. ErrNoReporter if nobody
// has that name.
func (d *Desk) Reporters(ask api.ReportersRequest) (api.Reporters, error) {
	answer := api.Reporters{Quorum: d.ledger.Quorum().Float(), Reporters: []api.Reporter{}}
	if ask.Name != "" {
		r, err := d.reporter(api.FoldReporter(ask.Name))
		if err != nil {
			return answer, err
		}
		answer.Reporters = append(answer.Reporters, d.newReporter(r))
		return answer, nil
	}
	limit := page(ask.Limit)
	list, err := d.ledger.Reporters(ask.After, limit, d.db.Now())
	if err != nil {
		return answer, err
	}
	for _, r := range list {
		answer.Reporters = append(answer.Reporters, d.newReporter(r))
	}
	if len(list) == limit {
		answer.Next = list[limit-1].Name
	}
	return answer, nil
}

// SetWeight sets the weight of a reporter. A weight of 0 also takes back what the reporter
// revoked: one who may revoke nothing keeps nothing out. When the error is nil, that is on disk.
func (d *Desk) SetWeight(ask api.WeightRequest, by Author) (api.Reporter, error) {
	of := api.FoldReporter(ask.Name) + " by reputation"
	if ask.Weight != nil {
		of = fmt.Sprintf("%s to %g", api.FoldReporter(ask.Name), *ask.Weight)
	}
	var done ledger.Reporter
	err := d.noted(by, "weight", of, signature.Set{}, func() (err error) {
		done, err = d.ledger.SetWeight(api.FoldReporter(ask.Name), ask.Weight, d.db.Now())
		return err
	})
	if err != nil {
		return api.Reporter{}, err
	}
	if ask.Weight != nil && *ask.Weight == 0 {
		if _, err := d.ledger.Withdraw(ledger.Undo{Reporter: api.FoldReporter(ask.Name), At: d.db.Now(), OnlyHam: true}); err != nil {
			return api.Reporter{}, err
		}
		if err := d.carryOutAll(); err != nil && !errors.Is(err, bloomdb.ErrFull) { // what is listed again
			return api.Reporter{}, err
		}
	}
	d.log.Info("weight set", "of", ask.Name, "by", by.Name, by.Origin.Attr(), "weight", done.Weight.Float(), "by_hand", ask.Weight != nil)
	return d.newReporter(done), nil
}

func (d *Desk) newReporter(r ledger.Reporter) api.Reporter {
	wire := answer.Reporter(r)
	if r.Override == nil && IsTrap(r.Name) {
		wire.Weight = d.ledger.Quorum().Float() // as in Ledger.Enter
	}
	return wire
}
