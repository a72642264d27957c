package reporting

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Problem is an error of the control API in the form of RFC 9457. Its type is
// always about:blank: the status says which sort of error it is, the detail is
// a sentence for a person.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	reporter string // whom the caller spoke for, where Detail names them
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

func newProblem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// problemOf turns what went wrong with a request into the answer to it.
func problemOf(err error) *Problem {
	var problem *Problem
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, bloomdb.ErrNothing):
		return newProblem(http.StatusUnprocessableEntity, "%v", bloomdb.ErrNothing)
	case errors.Is(err, bloomdb.ErrNever):
		return newProblem(http.StatusConflict, "%v", bloomdb.ErrNever)
	case errors.Is(err, bloomdb.ErrFull):
		return newProblem(http.StatusServiceUnavailable, "%v; the next one begins later", err)
	case errors.Is(err, ledger.ErrFull):
		return newProblem(http.StatusServiceUnavailable, "%v; old reports make room", err)
	case errors.Is(err, ErrTooMany), errors.Is(err, ledger.ErrShare):
		return newProblem(http.StatusTooManyRequests, "%v", err)
	case errors.Is(err, bloomdb.ErrClosed), errors.Is(err, ledger.ErrClosed):
		return newProblem(http.StatusServiceUnavailable, "the daemon is stopping")
	}
	return newProblem(http.StatusInternalServerError, "%v", err)
}

func (p *Problem) write(w http.ResponseWriter) {
	writeJSON(w, p.Status, "application/problem+json", p)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data, _ = json.Marshal(newProblem(http.StatusInternalServerError, "write the answer: %v", err))
		status, contentType = http.StatusInternalServerError, "application/problem+json"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A client that went away is none of our errors.
	_, _ = w.Write(append(data, '\n'))
}
