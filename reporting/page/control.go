package page

import (
	"errors"
	"net/http"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/server"
)

// errVisitor is the error of a request that needs a user.
var errVisitor = api.NewProblem(http.StatusUnauthorized, "this is for users who are signed in")

// get asks the control API in the name of the request's user.
func get[A any](p *Page, r *http.Request, endpoint v1.Get[A]) (none A, err error) {
	s := p.Sessions.of(r)
	if s == nil {
		return none, errVisitor
	}
	return server.Get(server.WithOrigin(r.Context(), s.origin), p.Control, endpoint)
}

// post sends a request to the control API in the name of the request's user.
func post[Q, A any](p *Page, r *http.Request, endpoint v1.Post[Q, A], q Q) (none A, err error) {
	s := p.Sessions.of(r)
	if s == nil {
		return none, errVisitor
	}
	return server.Post(server.WithOrigin(r.Context(), s.origin), p.Control, endpoint, q)
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
	status, text := statusOf(err)
	if status == http.StatusInternalServerError {
		p.Log.Error("page", "path", r.URL.Path, "error", err)
	}
	p.fail(w, r, status, text)
}

// statusOf returns the status and the text of an error.
func statusOf(err error) (status int, text string) {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Status, problem.Detail
	}
	return http.StatusInternalServerError, "The daemon could not answer; see its log"
}
