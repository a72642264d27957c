package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
)

// trail answers v1.Reports. A caller that does not administrate may ask for its own
// reports, and for those of a message without the names of other reporters.
func (h *handler) trail(c caller, q api.TrailRequest) (api.ReportTrail, error) {
	set, err := read(q.Request)
	if err != nil {
		return api.ReportTrail{}, err
	}
	isOfMessage := len(set.Signatures)+len(set.Sketches) > 0
	if !c.may(adminRight) && !isOfMessage {
		q.By = cmp.Or(q.By, c.name)
	}
	if q.By != "" && !c.isReporter(q.By) {
		if problem := c.needs(adminRight); problem != nil {
			return api.ReportTrail{}, problem
		}
	}
	trail, err := h.desk.Trail(q, set)
	c.hideOthers(trail.Reports)
	return trail, err
}

func (h *handler) undo(c caller, q api.UndoRequest) (api.Undone, error) {
	if q.By == "" || q.Since.IsZero() {
		return api.Undone{}, badRequest(errors.New("to undo takes a reporter (by) and a time (since)"))
	}
	if err := api.CheckReporter(q.By); err != nil {
		return api.Undone{}, badRequest(err)
	}
	if q.Limit < 0 {
		return api.Undone{}, badRequest(fmt.Errorf("limit %d: want 0 or more", q.Limit))
	}
	return h.desk.Undo(q, c.author())
}

// settle answers v1.Settle.
func (h *handler) settle(c caller, q api.SettleRequest) (api.Receipt, error) {
	set, err := q.Request.Read()
	switch {
	case err != nil:
		return api.Receipt{}, badRequest(err)
	case q.As != desk.SettleSpam && q.As != desk.SettleWanted && q.As != desk.SettleNever:
		return api.Receipt{}, api.NewProblem(http.StatusBadRequest, "as %.40q: want %s, %s or %s", q.As, desk.SettleSpam, desk.SettleWanted, desk.SettleNever)
	case (q.Report != 0) == (len(set.Signatures) > 0):
		return api.Receipt{}, api.NewProblem(http.StatusBadRequest, "to settle takes signatures or the number of a report, one of the two")
	}
	if q.Report != 0 {
		if set, err = h.desk.SetOf(q.Report); err != nil {
			return api.Receipt{}, err
		}
	}
	o, err := h.desk.Settle(desk.Report{Set: set, Class: q.Class}, q.As, c.author())
	if err != nil {
		return api.Receipt{}, err
	}
	return api.Receipt{IDs: o.IDs, Verdict: h.verdict(o.Evidence, set), Holds: o.Holds}, nil
}

// reporters answers v1.Reporters. A caller that does not administrate may ask for itself.
func (h *handler) reporters(c caller, q api.ReportersRequest) (api.Reporters, error) {
	if !c.may(adminRight) {
		q.Name = cmp.Or(q.Name, c.name, desk.Anonymous)
		if !c.isReporter(q.Name) {
			return api.Reporters{}, c.needs(adminRight)
		}
	}
	return h.desk.Reporters(q)
}

func (h *handler) setWeight(c caller, q api.WeightRequest) (api.Reporter, error) {
	err := api.CheckReporter(q.Name)
	switch {
	case err != nil:
		return api.Reporter{}, badRequest(err)
	case strings.TrimSpace(q.Name) == "":
		return api.Reporter{}, api.NewProblem(http.StatusBadRequest, "a weight takes a reporter (name)")
	case desk.IsSame(q.Name, api.Settler): // it decides alone; a weight of 0 would take back what judging still goes by
		return api.Reporter{}, api.NewProblem(http.StatusBadRequest, "%s has no weight: what is settled is undone, or settled anew", api.Settler)
	}
	if err := q.Check(); err != nil {
		return api.Reporter{}, badRequest(err)
	}
	return h.desk.SetWeight(q, c.author())
}
