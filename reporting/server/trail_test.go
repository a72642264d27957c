package server

import (
	"net/http"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
)

// TestTrailIsPrivate: a caller who does not administrate sees no other reporter's name.
func TestTrailIsPrivate(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	m := desktest.Letter(1, 0)
	s.MustReport("anna", m)
	s.MustReport("bob", desktest.Letter(1, 9))
	s.MustReport("bob", desktest.Letter(2, 0))
	options := HandlerOptions{Decide: desktest.Decide, Access: NewAccess(AccessOptions{DaemonUID: 100})}
	options.Access.names.Lookup = lookupUser
	h := NewHandler(s.Desk, options)
	ask := func(uid int, path string, question any) (status int, body string) {
		t.Helper()
		w := answerTo(h, process(uid), http.MethodPost, path, asJSON(t, question))
		return w.Code, w.Body.String()
	}
	ofMessage := api.TrailRequest{Request: api.NewRequest(m)}
	if status, body := ask(0, "/v1/reports", ofMessage); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 2 || !strings.Contains(body, `"bob"`) {
		t.Errorf("root is told of a message and its near-duplicate: %d %s", status, body)
	}
	if status, body := ask(1000, "/v1/reports", ofMessage); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 2 || strings.Contains(body, `bob`) || !strings.Contains(body, `"anna"`) {
		t.Errorf("anna is told of a message: %d %s", status, body)
	}
	if status, body := ask(1000, "/v1/reports", api.TrailRequest{}); status != http.StatusOK || strings.Count(body, `"action":"report"`) != 1 {
		t.Errorf("anna is told of all: %d %s", status, body)
	}
	for path, question := range map[string]any{
		"/v1/reports": api.TrailRequest{By: "bob"}, "/v1/reporters": api.ReportersRequest{Name: "bob"},
		"/v1/undo": api.UndoRequest{By: "bob", Since: time.Unix(1, 0)}, "/v1/reporters/weight": api.WeightRequest{Name: "anna"},
	} {
		if status, body := ask(1000, path, question); status != http.StatusForbidden {
			t.Errorf("%s: anna is answered %d %s", path, status, body)
		}
	}
	if status, body := ask(1000, "/v1/reporters", api.ReportersRequest{}); status != http.StatusOK || strings.Contains(body, "bob") || !strings.Contains(body, `"anna"`) {
		t.Errorf("anna is told of reporters: %d %s", status, body)
	}
}

// TestOneNameInManyCases: a name that somebody typed at a login is the same person's in
// any case, and in any form of Unicode.
func TestOneNameInManyCases(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	m := desktest.Letter(1, 0)
	for _, who := range []string{"zoë@example.org", "Zoë@example.org", "ZOË@EXAMPLE.ORG", "zoe\u0308@example.org"} {
		s.MustReport(who, m)
	}
	s.WantListed("one person's report", m, false)
	options := HandlerOptions{Decide: desktest.Decide, Access: NewAccess(AccessOptions{DaemonUID: 100})}
	options.Access.names.Lookup = func(string) (*user.User, error) { return &user.User{Username: "Zoë@Example.org"}, nil }
	h := NewHandler(s.Desk, options)
	for path, question := range map[string]any{"/v1/reports": api.TrailRequest{By: "zoë@example.ORG"}, "/v1/reporters": api.ReportersRequest{}} {
		if w := answerTo(h, process(1000), http.MethodPost, path, asJSON(t, question)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"zoë@example.org"`) {
			t.Errorf("%s: the answer to a login with capitals is %d %s", path, w.Code, w.Body)
		}
	}
}
