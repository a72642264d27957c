package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// problemOf returns the answer to a request that an error has ended.
func problemOf(err error) *api.Problem {
	var problem *api.Problem
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, bloomdb.ErrNothing):
		return api.NewProblem(http.StatusUnprocessableEntity, "%v", bloomdb.ErrNothing)
	case errors.Is(err, desk.ErrNoReporter), errors.Is(err, desk.ErrUnknown), errors.Is(err, desk.ErrAmbiguous), errors.Is(err, desk.ErrNoReport), errors.Is(err, signature.ErrNoHeader):
		return api.NewProblem(http.StatusUnprocessableEntity, "%v", err)
	case errors.Is(err, bloomdb.ErrNever):
		return api.NewProblem(http.StatusConflict, "%v", bloomdb.ErrNever)
	case errors.Is(err, desk.ErrRevokedOften):
		return api.NewProblem(http.StatusConflict, "%v", err)
	case errors.Is(err, bloomdb.ErrLearning):
		return api.NewProblem(http.StatusNotImplemented, "%v", err)
	case errors.Is(err, bloomdb.ErrLearned):
		return api.NewProblem(http.StatusServiceUnavailable, "%v", err)
	case errors.Is(err, bloomdb.ErrContested):
		return api.NewProblem(http.StatusConflict, "%v; it is kept, and counts from the next period on", err)
	case errors.Is(err, bloomdb.ErrFull):
		return api.NewProblem(http.StatusServiceUnavailable, "%v; the next one begins later", err)
	case errors.Is(err, ledger.ErrFull):
		return api.NewProblem(http.StatusServiceUnavailable, "%v; old reports make room", err)
	case errors.Is(err, desk.ErrTooMany), errors.Is(err, ledger.ErrShare):
		return api.NewProblem(http.StatusTooManyRequests, "%v", err)
	case errors.Is(err, bloomdb.ErrClosed), errors.Is(err, ledger.ErrClosed):
		return api.NewProblem(http.StatusServiceUnavailable, "the daemon is stopping")
	}
	return api.NewProblem(http.StatusInternalServerError, "%v", err)
}

// badRequest returns the answer to a request that cannot be read.
func badRequest(err error) *api.Problem {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return api.NewProblem(http.StatusRequestEntityTooLarge, "the request is over %d bytes", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return api.NewProblem(http.StatusRequestTimeout, "the request took too long to come")
	}
	return api.NewProblem(http.StatusBadRequest, "%v", err)
}

func writeProblem(w http.ResponseWriter, p *api.Problem) {
	writeJSON(w, p.Status, "application/problem+json", p)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data, _ = json.Marshal(api.NewProblem(http.StatusInternalServerError, "write the answer: %v", err))
		status, contentType = http.StatusInternalServerError, "application/problem+json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have gone
}
