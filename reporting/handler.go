package reporting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

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

	// Strangers says what was refused of senders that did not prove to be a site, by
	// cause; nil: nothing is known.
	Strangers func() map[string]int64

	Log *slog.Logger // nil: discard
}

type handler struct {
	desk *Desk
	HandlerOptions
}

// NewHandler returns the control API described in API.md.
func NewHandler(d *Desk, o HandlerOptions) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{d, o}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/check", h.answer(http.MethodPost, h.check))
	mux.HandleFunc("/v1/explain", h.answer(http.MethodPost, h.explain))
	mux.HandleFunc("/v1/report", h.answer(http.MethodPost, h.report))
	mux.HandleFunc("/v1/revoke", h.answer(http.MethodPost, h.revoke))
	mux.HandleFunc("/v1/retouch", h.answer(http.MethodPost, h.retouch))
	mux.HandleFunc("/v1/retouch/plan", h.answer(http.MethodPost, h.planRetouch))
	mux.HandleFunc("/v1/retouched", h.answer(http.MethodGet, h.retouched))
	mux.HandleFunc("/v1/never", h.answer(http.MethodPost, h.never))
	mux.HandleFunc("/v1/never/remove", h.answer(http.MethodPost, h.unnever))
	mux.HandleFunc("/v1/never/list", h.answer(http.MethodGet, h.neverList))
	mux.HandleFunc("/v1/sites", h.answer(http.MethodGet, h.sites))
	mux.HandleFunc("/v1/mute", h.answer(http.MethodPost, h.mute))
	mux.HandleFunc("/v1/drop", h.answer(http.MethodPost, h.drop))
	mux.HandleFunc("/v1/status", h.answer(http.MethodGet, h.status))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		newProblem(http.StatusNotFound, "there is no %.100q", r.URL.Path).write(w)
	})
	return mux
}

// answer wraps one endpoint: its method, its JSON answer, its errors.
func (h *handler) answer(method string, do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			newProblem(http.StatusMethodNotAllowed, "%s takes %s", r.URL.Path, method).write(w)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		answer, err := do(r)
		if err == nil {
			writeJSON(w, http.StatusOK, "application/json", answer)
			return
		}
		problem := problemOf(err)
		if problem.Status == http.StatusInternalServerError {
			h.Log.Error("control request failed", "path", r.URL.Path, "error", err)
		}
		problem.write(w)
	}
}

// read takes the report out of a request.
func read(r *http.Request) (Report, error) { return readAs(r, decodeRequest) }

func readAs(r *http.Request, decode func(io.Reader) (Report, error)) (Report, error) {
	report, err := decode(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return report, newProblem(http.StatusRequestEntityTooLarge, "the request is over %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return report, newProblem(http.StatusBadRequest, "%v", err)
	}
	report.Origin = originOf(r.Context())
	return report, nil
}

func (h *handler) check(r *http.Request) (any, error) {
	report, err := read(r)
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
	report, err := read(r)
	if err != nil {
		return nil, err
	}
	answer, evidence := h.judge(report)
	x := newExplanation(answer, evidence, report.Set, h.desk.db.Explain(report.Set))
	x.Sketches = newSketchTraces(h.desk.db.ExplainSketches(report.Set))
	x.Domains = newDomainTraces(h.desk.db.ExplainDomains(report.Set))
	return x, nil
}

func (h *handler) report(r *http.Request) (any, error) {
	report, err := read(r)
	if err != nil {
		return nil, err
	}
	evidence, err := h.desk.Report(report)
	if err != nil {
		return nil, err
	}
	receipt := Receipt{IDs: ids(report.Set.Signatures), Verdict: h.verdict(evidence, report)}
	if !evidence.Listed {
		receipt.RevokedUntil = h.desk.revokedUntil(report.Set)
	}
	return receipt, nil
}

func (h *handler) revoke(r *http.Request) (any, error) {
	report, err := read(r)
	if err != nil {
		return nil, err
	}
	evidence, err := h.desk.Revoke(report)
	if err != nil {
		return nil, err
	}
	return Receipt{IDs: ids(report.Set.Signatures), Verdict: h.verdict(evidence, report)}, nil
}

func (h *handler) status(*http.Request) (any, error) {
	s := Status{Version: h.Version, Database: h.desk.db.Status()}
	if h.Status != nil {
		facts, err := json.Marshal(h.Status())
		if err != nil {
			return nil, fmt.Errorf("write the daemon's facts: %w", err)
		}
		s.Daemon = facts
	}
	return s, nil
}
