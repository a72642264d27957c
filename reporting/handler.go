package reporting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/spambloom/spambloom/bloomdb"
)

// HandlerOptions are what the control API needs beside the desk.
type HandlerOptions struct {
	// Decide gives the verdict on a message's evidence; signed is false where
	// the message has no signatures. Required.
	Decide func(e bloomdb.Evidence, signed bool) (verdict string)

	Version string        // of the daemon
	Status  func() any    // facts of the daemon's other parts, written as JSON; nil: none
	Links   func() []Link // how far other sites are heard; nil: nothing is known

	// Access decides who may do what; nil: everybody who gets to the handler may do
	// everything, also in the name of others.
	Access *Access

	// Strangers says what was refused of senders that did not prove to be a site, by
	// cause; nil: nothing is known.
	Strangers func() map[string]int64

	Folder string   // the state folder, for backups
	Keys   []string // the site's key files; those in Folder are in a backup

	Log *slog.Logger // nil: discard
}

type handler struct {
	desk *Desk
	HandlerOptions
	backing  sync.Mutex // held while a backup is being written
	turns    turns
	refusals throttle // of the log lines
}

// NewHandler returns the control API described in API.md.
func NewHandler(d *Desk, o HandlerOptions) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{desk: d, HandlerOptions: o}
	if h.Access == nil {
		h.Access = new(Access)
	}
	paths := make(map[string]http.HandlerFunc)
	for _, e := range h.endpoints() {
		paths[e.path] = h.guard(e, h.answer(e))
	}
	for _, e := range h.streams() {
		paths[e.path] = h.guard(e.endpoint, e.serve)
	}
	// No ServeMux: its redirects and its own refusals are no answers of this API.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := paths[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		newProblem(http.StatusNotFound, "there is no %.100q", r.URL.Path).write(w)
	})
}

// endpoint is one path of the API, and what it takes to use it.
type endpoint struct {
	method, path string
	needs        right
	do           func(*http.Request) (any, error)
}

func (h *handler) endpoints() []endpoint {
	return []endpoint{
		{http.MethodGet, "/v1/whoami", toNothing, h.whoami},
		{http.MethodPost, "/v1/check", toAsk, h.check},
		{http.MethodPost, "/v1/explain", toAsk, h.explain},
		{http.MethodPost, "/v1/report", toReport, h.report},
		{http.MethodPost, "/v1/revoke", toReport, h.revoke},
		{http.MethodPost, "/v1/reports", toReport, h.trail},
		{http.MethodPost, "/v1/undo", toAdministrate, h.undo},
		{http.MethodPost, "/v1/reporters", toReport, h.reporters},
		{http.MethodPost, "/v1/reporters/weight", toAdministrate, h.setWeight},
		{http.MethodPost, "/v1/retouch", toAdministrate, h.retouch},
		{http.MethodPost, "/v1/retouch/plan", toAdministrate, h.planRetouch},
		{http.MethodGet, "/v1/retouched", toAsk, h.retouched},
		{http.MethodPost, "/v1/never", toAdministrate, h.never},
		{http.MethodPost, "/v1/never/remove", toAdministrate, h.unnever},
		{http.MethodGet, "/v1/never/list", toAsk, h.neverList},
		{http.MethodGet, "/v1/sites", toAsk, h.sites},
		{http.MethodPost, "/v1/mute", toAdministrate, h.mute},
		{http.MethodPost, "/v1/drop", toAdministrate, h.drop},
		{http.MethodGet, "/v1/status", toAsk, h.status},
	}
}

// guard lets those through to an endpoint who may use it, with its method.
func (h *handler) guard(e endpoint, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != e.method {
			w.Header().Set("Allow", e.method)
			newProblem(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, e.method).write(w)
			return
		}
		caller := h.Access.caller(r)
		if problem := caller.needs(e.needs); problem != nil {
			h.refuse(w, e, caller, problem)
			return
		}
		leave, problem := h.turns.take(r.Context(), caller)
		if problem != nil {
			problem.write(w)
			return
		}
		defer leave()
		next(w, withCaller(r, caller))
	}
}

// answer wraps one endpoint: its bounded request, its JSON answer, its errors.
func (h *handler) answer(e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		answer, err := e.do(r)
		if err == nil {
			writeJSON(w, http.StatusOK, "application/json", answer)
			return
		}
		problem := problemOf(err)
		if problem.Status == http.StatusForbidden {
			h.refuse(w, e, callerOf(r.Context()), problem)
			return
		}
		h.fail(w, r, problem, err)
	}
}

// fail answers a request that an error has ended.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, problem *Problem, err error) {
	if problem.Status == http.StatusInternalServerError {
		h.Log.Error("control request failed", "path", r.URL.Path, "error", err)
	}
	problem.write(w)
}

// refuse answers a request for which the caller lacks the right; one line a minute is
// logged.
func (h *handler) refuse(w http.ResponseWriter, e endpoint, c Caller, p *Problem) {
	const line = "control request refused"
	if n := h.refusals.take(line); n > 0 {
		h.Log.Warn(line, "path", e.path, "by", c.Name(), "as", p.reporter, "reason", p.Detail, c.origin.attr(), "refused", n)
	}
	if e.needs >= toReport { // to ask is no report
		h.desk.refused.WithLabelValues(strings.TrimPrefix(e.path, "/v1/"), "not_allowed").Inc()
	}
	p.write(w)
}

// read takes the report out of a request, in the name of its reporter. A caller who
// names none speaks for themselves.
func read(r *http.Request) (Report, error) { return readAs(r, decodeRequest) }

func readAs(r *http.Request, decode func(io.Reader) (Report, error)) (Report, error) {
	report, err := readQuestion(r, decode)
	if err != nil {
		return report, err
	}
	caller := callerOf(r.Context())
	name, problem := caller.speaksAs(report.Reporter)
	if problem != nil {
		return report, problem
	}
	report.Reporter, report.Origin = name, caller.origin
	return report, nil
}

// readQuestion takes the message out of a request, of which no reporter matters.
func readQuestion(r *http.Request, decode func(io.Reader) (Report, error)) (Report, error) {
	report, err := decode(r.Body)
	return report, badRequest(err)
}

// badRequest is the answer to a request that cannot be read; nil for no error.
func badRequest(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, "the request is over %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newProblem(http.StatusRequestTimeout, "the request took too long to come")
	}
	return newProblem(http.StatusBadRequest, "%v", err)
}

func (h *handler) check(r *http.Request) (any, error) {
	report, err := readQuestion(r, decodeRequest)
	if err != nil {
		return nil, err
	}
	answer, _ := h.judge(report)
	return answer, nil
}

func (h *handler) judge(r Report) (Answer, bloomdb.Evidence) {
	evidence := h.desk.db.Judge(r.Set)
	return newAnswer(r.Set, evidence, h.verdict(evidence, r)), evidence
}

func (h *handler) verdict(e bloomdb.Evidence, r Report) string {
	return h.Decide(e, len(r.Set.Signatures) > 0)
}

func (h *handler) explain(r *http.Request) (any, error) {
	report, err := readQuestion(r, decodeRequest)
	if err != nil {
		return nil, err
	}
	answer, evidence := h.judge(report)
	x := newExplanation(answer, evidence, report.Set, h.desk.db.Explain(report.Set))
	x.Sketches = newSketchTraces(h.desk.db.ExplainSketches(report.Set))
	x.Domains = newDomainTraces(h.desk.db.ExplainDomains(report.Set))
	return x, nil
}

func (h *handler) report(r *http.Request) (any, error) { return h.enter(r, h.desk.Report) }

func (h *handler) revoke(r *http.Request) (any, error) { return h.enter(r, h.desk.Revoke) }

// enter takes a report or a revocation.
func (h *handler) enter(r *http.Request, take func(Report) (Outcome, error)) (any, error) {
	report, err := read(r)
	if err != nil {
		return nil, err
	}
	report.Trusted = callerOf(r.Context()).Administrates()
	o, err := take(report)
	if err != nil {
		return nil, err
	}
	receipt := Receipt{
		IDs: ids(report.Set.Signatures), Verdict: h.verdict(o.Evidence, report),
		RevokedUntil: o.RevokedUntil, Sum: o.Sum, Quorum: o.Quorum, Idle: o.Idle,
	}
	if o.Returned {
		receipt.Offer = "retouch"
	}
	return receipt, nil
}

func (h *handler) status(*http.Request) (any, error) {
	s := Status{Version: h.Version, Database: h.desk.db.Status()}
	var err error
	if s.Reports, err = h.desk.ledger.Status(); err != nil {
		return nil, err
	}
	if h.Status != nil {
		facts, err := json.Marshal(h.Status())
		if err != nil {
			return nil, fmt.Errorf("write the daemon's facts: %w", err)
		}
		s.Daemon = facts
	}
	return s, nil
}
