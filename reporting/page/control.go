package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/server"
)

// answer is what the control API writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// errVisitor is the error of a request that needs a user.
var errVisitor = api.NewProblem(http.StatusUnauthorized, "this is for users who are signed in: run `spambloom web` in a terminal, and open the link")

// get asks the control API in the name of the request's user.
func get[A any](p *Page, r *http.Request, endpoint v1.Get[A]) (A, error) {
	return call[A](p, r, http.MethodGet, string(endpoint), nil)
}

// post sends a request to the control API in the name of the request's user.
func post[Q, A any](p *Page, r *http.Request, endpoint v1.Post[Q, A], q Q) (A, error) {
	body, err := json.Marshal(q)
	if err != nil {
		var none A
		return none, err
	}
	return call[A](p, r, http.MethodPost, string(endpoint), body)
}

func call[A any](p *Page, r *http.Request, method, path string, body []byte) (result A, err error) {
	s := p.Sessions.of(r)
	if s == nil {
		return result, errVisitor
	}
	ask, err := http.NewRequestWithContext(server.WithOrigin(r.Context(), s.origin), method, path, bytes.NewReader(body))
	if err != nil {
		return result, err
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	p.Control.ServeHTTP(a, ask)
	if a.status != http.StatusOK {
		problem := &api.Problem{}
		if err := json.Unmarshal(a.body.Bytes(), problem); err != nil {
			return result, fmt.Errorf("%s: %w", path, err)
		}
		problem.Status = a.status
		return result, problem
	}
	return result, json.Unmarshal(a.body.Bytes(), &result)
}

// rights returns what the user of a session may do now.
func (p *Page) rights(r *http.Request, _ *session) map[string]bool {
	who, err := get(p, r, v1.Whoami)
	if err != nil {
		return nil
	}
	may := make(map[string]bool)
	for _, right := range who.May {
		may[right] = true
	}
	return may
}

// failed shows an error of the control API.
func (p *Page) failed(w http.ResponseWriter, r *http.Request, err error) {
	var problem *api.Problem
	if errors.As(err, &problem) {
		p.fail(w, r, problem.Status, problem.Detail)
		return
	}
	p.Log.Error("page", "path", r.URL.Path, "error", err)
	p.fail(w, r, http.StatusInternalServerError, "The daemon could not answer; see its log")
}
