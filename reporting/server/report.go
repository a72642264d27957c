package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/signature"
)

// read checks the message of a request.
func read(q api.Request) (signature.Set, error) {
	set, err := q.Read()
	if err != nil {
		return set, badRequest(err)
	}
	return set, nil
}

// readReport checks the message of a request, and the right to report in the reporter's
// name. A caller that names no reporter reports in its own name.
func (c caller) readReport(q api.Request) (desk.Report, error) {
	set, err := read(q)
	if err != nil {
		return desk.Report{}, err
	}
	return c.reportOf(set, q)
}

func (c caller) reportOf(set signature.Set, q api.Request) (desk.Report, error) {
	name, err := c.reporter(q.Reporter)
	trusted := c.may(adminRight)
	return desk.Report{Set: set, Reporter: name, Class: q.Class, Origin: c.origin, Trusted: trusted, Administers: trusted && c.isReporter(name)}, err
}

func (h *handler) check(_ caller, q api.Request) (api.Answer, error) {
	set, err := read(q)
	if err != nil {
		return api.Answer{}, err
	}
	a, evidence := h.desk.Check(set)
	a.Verdict = h.verdict(evidence, set)
	return a, nil
}

func (h *handler) explain(_ caller, q api.SenderRequest) (api.Explanation, error) {
	set, err := q.Read()
	if err != nil {
		return api.Explanation{}, badRequest(err)
	}
	x, evidence := h.desk.Explain(set, q.From)
	x.Verdict, x.Unheard = h.verdict(evidence, set), h.unheard()
	return x, nil
}

func (h *handler) report(c caller, q api.Request) (api.Receipt, error) {
	return h.enter(c, q, h.desk.Report)
}

func (h *handler) revoke(c caller, q api.Request) (api.Receipt, error) {
	return h.enter(c, q, h.desk.Revoke)
}

func (h *handler) enter(c caller, q api.Request, enter func(desk.Report) (desk.Outcome, error)) (api.Receipt, error) {
	report, err := c.readReport(q)
	if err != nil {
		return api.Receipt{}, err
	}
	return h.enterReport(report, enter)
}

func (h *handler) enterReport(report desk.Report, enter func(desk.Report) (desk.Outcome, error)) (api.Receipt, error) {
	o, err := enter(report)
	if err != nil {
		return api.Receipt{}, err
	}
	receipt := api.Receipt{
		IDs: o.IDs, Verdict: h.verdict(o.Evidence, report.Set),
		RevokedUntil: o.RevokedUntil, Sum: o.Sum, Quorum: o.Quorum, Known: o.Known, Idle: o.Idle,
		WaitsUntil: o.Waits, Settled: o.Settled, Holds: o.Holds,
		LikeMails: o.Like.Mails, LikeSenders: o.Like.Senders, Held: o.Held,
	}
	if o.Returned {
		receipt.Offer = "retouch"
	}
	return receipt, nil
}

func (h *handler) learn(c caller, q api.SenderRequest) (api.Learned, error) {
	if q.Keep {
		return api.Learned{}, h.desk.KeepLearned()
	}
	set, err := q.Read()
	if err != nil {
		return api.Learned{}, badRequest(err)
	}
	report, err := c.reportOf(set, q.Request)
	if err != nil {
		return api.Learned{}, err
	}
	learned, err := h.desk.Learn(report, q.From, q.At)
	return api.Learned{Learned: learned}, err
}

func (h *handler) retouch(c caller, q api.Request) (api.Retouching, error) {
	return h.retouchBy(c, q, h.desk.Retouch)
}

func (h *handler) planRetouch(c caller, q api.Request) (api.Retouching, error) {
	return h.retouchBy(c, q, h.desk.PlanRetouch)
}

func (h *handler) retouchBy(c caller, q api.Request, retouch func(desk.Report) (api.Retouching, error)) (api.Retouching, error) {
	report, err := c.readReport(q)
	if err != nil {
		return api.Retouching{}, err
	}
	done, err := retouch(report)
	if err == nil {
		done.Verdict = h.verdict(h.desk.Judge(report.Set), report.Set)
	}
	return done, err
}

// readNever checks a request about the never-list, and the right to make it in the
// reporter's name.
func (c caller) readNever(q api.NeverRequest) (desk.Report, error) {
	set, err := q.Request.Read()
	if err := errors.Join(err, never.CheckNote(q.Note)); err != nil {
		return desk.Report{}, badRequest(err)
	}
	return c.reportOf(set, q.Request)
}

func (h *handler) never(c caller, q api.NeverRequest) (api.NeverList, error) {
	report, err := c.readNever(q)
	switch {
	case err != nil:
		return api.NeverList{}, err
	case q.ID != "":
		return api.NeverList{}, api.NewProblem(http.StatusBadRequest, "an id takes back a declaration and makes none")
	}
	list, err := h.desk.Never(report, q.Note)
	if err == nil {
		list.Verdict = h.verdict(h.desk.Judge(report.Set), report.Set)
	}
	return list, err
}

func (h *handler) removeNever(c caller, q api.NeverRequest) (api.NeverList, error) {
	report, err := c.readNever(q)
	switch {
	case err != nil:
		return api.NeverList{}, err
	case q.Note != "":
		return api.NeverList{}, api.NewProblem(http.StatusBadRequest, "a note goes with a declaration only")
	case q.ID != "" && (len(report.Set.Signatures) > 0 || !never.IsID(q.ID)):
		return api.NeverList{}, api.NewProblem(http.StatusBadRequest, "id %.40q: want KIND:16 hex digits, and no signatures beside it", q.ID)
	}
	list, err := h.desk.RemoveNever(report, q.ID)
	if err == nil && q.ID == "" {
		list.Verdict = h.verdict(h.desk.Judge(report.Set), report.Set)
	}
	return list, err
}

func (h *handler) status(caller) (api.Status, error) {
	s, err := h.desk.Status()
	if err != nil {
		return s, err
	}
	s.Version = h.Version
	if h.Status != nil {
		if s.Daemon, err = json.Marshal(h.Status()); err != nil {
			return s, fmt.Errorf("write the daemon's facts: %w", err)
		}
	}
	if h.Overview != nil {
		s.Overview = h.Overview(s)
	}
	return s, nil
}
