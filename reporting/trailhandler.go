package reporting

import (
	"cmp"
	"io"
	"net/http"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// maxPage bounds what one answer lists.
const maxPage = 1000

func page(limit int) int {
	if limit <= 0 || limit > maxPage {
		return maxPage
	}
	return limit
}

// readObject takes a JSON object out of a request.
func readObject(r *http.Request, object any) error {
	_, err := readQuestion(r, func(body io.Reader) (Report, error) { return Report{}, decodeObject(body, object) })
	return err
}

// trail answers /v1/reports. Who does not administrate sees their own reports, and of
// others' that they are there.
func (h *handler) trail(r *http.Request) (any, error) {
	var ask TrailRequest
	report, err := readQuestion(r, func(body io.Reader) (Report, error) {
		if err := decodeObject(body, &ask); err != nil {
			return Report{}, err
		}
		return ask.report()
	})
	if err != nil {
		return nil, err
	}
	caller := callerOf(r.Context())
	ofMessage := len(report.Set.Signatures)+len(report.Set.Sketches) > 0
	if !caller.Administrates() && !ofMessage {
		ask.By = cmp.Or(ask.By, caller.Name())
	}
	if ask.By = foldReporter(ask.By); ask.By != "" && ask.By != foldReporter(caller.Name()) {
		if problem := caller.needs(toAdministrate); problem != nil {
			return nil, problem
		}
	}
	return h.desk.trail(ask, report, caller)
}

func (d *Desk) trail(ask TrailRequest, report Report, caller Caller) (ReportTrail, error) {
	set := d.db.Essence(report.Set)
	list, next, err := d.ledger.Reports(ledger.Query{
		Set: set, Anchors: d.anchors(set.Sketches),
		Reporter: ask.By, Since: ask.Since, Before: ask.Before, Limit: page(ask.Limit),
	})
	if err != nil {
		return ReportTrail{}, err
	}
	trail := ReportTrail{Reports: make([]Reported, len(list)), Next: next}
	for i, l := range list {
		trail.Reports[i] = Reported{
			ID: l.ID, At: l.At, Action: action(l.Stance), Class: bloomdb.Class(l.Class),
			Weight: l.Weight.Float(), State: string(l.State), IDs: ids(l.Set.Signatures),
		}
		if caller.Administrates() || l.Reporter == foldReporter(caller.Name()) {
			trail.Reports[i].Reporter, trail.Reports[i].Origin = l.Reporter, l.Origin
		}
	}
	return trail, nil
}

func action(s ledger.Stance) string {
	if s == ledger.Ham {
		return "revoke"
	}
	return "report"
}

func (h *handler) undo(r *http.Request) (any, error) {
	var ask UndoRequest
	if err := readObject(r, &ask); err != nil {
		return nil, err
	}
	if ask.By == "" || ask.Since.IsZero() {
		return nil, newProblem(http.StatusBadRequest, "to undo takes a reporter (by) and a time (since)")
	}
	if err := CheckReporter(ask.By); err != nil {
		return nil, newProblem(http.StatusBadRequest, "%v", err)
	}
	ask.By = foldReporter(ask.By)
	return h.desk.Undo(ask, callerOf(r.Context()))
}

// Undo takes back what a reporter said. When the error is nil, that is on disk, and what
// has lost its quorum is revoked; after an error, a part of that may have happened.
func (d *Desk) Undo(ask UndoRequest, caller Caller) (Undone, error) {
	if _, ok, err := d.ledger.Reporter(ask.By, d.db.Now()); err != nil {
		return Undone{}, err
	} else if !ok {
		return Undone{}, unknownReporter(ask.By)
	}
	done, err := d.ledger.Withdraw(ledger.Undo{Reporter: ask.By, Since: ask.Since, At: d.db.Now(), DryRun: ask.DryRun})
	if err != nil {
		return Undone{}, err
	}
	if !ask.DryRun {
		d.log.Info("undo accepted", "of", ask.By, "since", ask.Since, "by", caller.Name(), caller.origin.attr(),
			"reports", done.Reports, "revocations", done.Revocations, "delisted", done.Delisted)
		if err := d.carryOutAll(); err != nil {
			d.overdue.Store(true)
			return Undone{}, err
		}
	}
	return Undone{done.Reports, done.Revocations, done.Delisted, done.Standing}, nil
}

func unknownReporter(name string) *Problem {
	return newProblem(http.StatusUnprocessableEntity, "there is no reporter %q", name)
}

func (h *handler) reporters(r *http.Request) (any, error) {
	var ask ReportersRequest
	if err := readObject(r, &ask); err != nil {
		return nil, err
	}
	caller := callerOf(r.Context())
	if !caller.Administrates() {
		ask.Name = cmp.Or(ask.Name, caller.Name(), anonymous)
	}
	if ask.Name = foldReporter(ask.Name); ask.Name != foldReporter(caller.Name()) {
		if problem := caller.needs(toAdministrate); problem != nil {
			return nil, problem
		}
	}
	return h.desk.reporters(ask)
}

func (d *Desk) reporters(ask ReportersRequest) (Reporters, error) {
	answer := Reporters{Quorum: d.ledger.Quorum().Float(), Reporters: []Reporter{}}
	now := d.db.Now()
	if ask.Name != "" {
		r, ok, err := d.ledger.Reporter(ask.Name, now)
		if err == nil && !ok {
			err = unknownReporter(ask.Name)
		}
		if err != nil {
			return answer, err
		}
		answer.Reporters = append(answer.Reporters, newReporter(r))
		return answer, nil
	}
	limit := page(ask.Limit)
	list, err := d.ledger.Reporters(ask.After, limit, now)
	if err != nil {
		return answer, err
	}
	for _, r := range list {
		answer.Reporters = append(answer.Reporters, newReporter(r))
	}
	if len(list) == limit {
		answer.Next = list[limit-1].Name
	}
	return answer, nil
}

func newReporter(r ledger.Reporter) Reporter {
	wire := Reporter{
		Name: r.Name, Weight: r.Weight.Float(), Confirmed: figure(r.Reputation.Confirmed), Refuted: figure(r.Reputation.Refuted),
		Reports: int64(r.Reports), Revocations: int64(r.Revocations), First: r.First, Last: r.Last,
	}
	if r.Override != nil {
		w := r.Override.Float()
		wire.Override = &w
	}
	return wire
}

// maxWeight bounds a weight that is set by hand.
const maxWeight = 1000

func (h *handler) setWeight(r *http.Request) (any, error) {
	var ask WeightRequest
	if err := readObject(r, &ask); err != nil {
		return nil, err
	}
	err := CheckReporter(ask.Name)
	switch {
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "%v", err)
	case strings.TrimSpace(ask.Name) == "":
		return nil, newProblem(http.StatusBadRequest, "a weight takes a reporter (name)")
	case ask.Weight != nil && !(*ask.Weight >= 0 && *ask.Weight <= maxWeight):
		return nil, newProblem(http.StatusBadRequest, "a weight of %v; want 0 to %d", *ask.Weight, maxWeight)
	}
	caller := callerOf(r.Context())
	done, err := h.desk.ledger.SetWeight(foldReporter(ask.Name), ask.Weight, h.desk.db.Now())
	if err != nil {
		return nil, err
	}
	h.desk.log.Info("weight set", "of", ask.Name, "by", caller.Name(), caller.origin.attr(), "weight", done.Weight.Float(), "by_hand", ask.Weight != nil)
	return newReporter(done), nil
}
