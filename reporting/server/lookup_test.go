package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/judged"
)

// Ids are for administrators. A caller with the message sees neither the names of others
// nor queue ids.
func TestLookupIsPrivate(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	m := desktest.Letter(1, 0)
	s.MustReport("anna", m)
	s.MustReport("bob", m)
	list := judged.New(desktest.Noon, 1<<20)
	list.Add(judged.Message{At: desktest.Noon, QueueID: "4F2A61234B", Verdict: "spam", Set: m})
	options := HandlerOptions{Decide: desktest.Decide, Access: NewAccess(AccessOptions{DaemonUID: 100})}
	options.Access.names.Lookup = lookupUser
	h := NewHandler(desk.New(s.DB, s.Ledger, desk.Options{Judged: list}), options)
	ask := func(uid int, path string, question any) (status int, body string) {
		t.Helper()
		w := answerTo(h, process(uid), http.MethodPost, path, asJSON(t, question))
		return w.Code, w.Body.String()
	}
	none := api.Request{Signatures: []api.Signature{}}
	byID, byQueueID := api.LookupRequest{Request: none, ID: m.Signatures[0].ID()}, api.LookupRequest{Request: none, QueueID: "4F2A61234B"}
	ofMessage := api.LookupRequest{Request: api.NewRequest(m)}
	for _, question := range []any{byID, byQueueID, ofMessage} {
		if status, body := ask(0, "/v1/lookup", question); status != http.StatusOK || !strings.Contains(body, `"verdict":"spam"`) || !strings.Contains(body, `"bob"`) || !strings.Contains(body, "4F2A61234B") {
			t.Errorf("root is told %d %s", status, body)
		}
	}
	for _, question := range []any{byID, byQueueID} {
		for _, path := range []string{"/v1/lookup", "/v1/revoke/id"} {
			if status, body := ask(1000, path, question); status != http.StatusForbidden {
				t.Errorf("%s: anna is answered %d %s", path, status, body)
			}
		}
	}
	status, body := ask(1000, "/v1/lookup", ofMessage)
	if status != http.StatusOK || strings.Contains(body, "bob") || strings.Contains(body, "4F2A") || !strings.Contains(body, `"anna"`) || !strings.Contains(body, `"judged":[{"at"`) {
		t.Errorf("anna is told of a message: %d %s", status, body)
	}
	if status, body := ask(0, "/v1/revoke/id", byID); status != http.StatusOK || !strings.Contains(body, m.Signatures[0].ID()) {
		t.Errorf("root revokes: %d %s", status, body)
	}
}

// A lookup has exactly one of a message, an id and a queue id.
func TestLookupRequests(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	h := NewHandler(s.Desk, HandlerOptions{Decide: desktest.Decide})
	const text = `{"kind": "text", "digest": "2c624232cdd221771294dfbb310aca000a0df6ac8b66b696d90ef06fdefb64a3"}`
	for body, want := range map[string]int{
		`{"signatures": []}`: http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c624232cdd22177", "queue_id": "4F2A"}`:         http.StatusBadRequest,
		`{"signatures": [` + text + `], "id": "text:2c624232cdd22177"}`:                 http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c62"}`:                                         http.StatusBadRequest,
		`{"signatures": [], "id": "cheese:2c624232cdd22177"}`:                           http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c624232cdd2217x"}`:                             http.StatusBadRequest,
		`{"signatures": [], "queue_id": "` + strings.Repeat("x", maxQueueID+1) + `"}`:   http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c624232cdd22177", "reporter": "with a blank"}`: http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c624232cdd22177"}`:                             http.StatusOK,
		`{"signatures": [], "queue_id": "4F2A"}`:                                        http.StatusOK,
		`{"signatures": [` + text + `]}`:                                                http.StatusOK,
	} {
		if w := answerTo(h, process(0), http.MethodPost, "/v1/lookup", body); w.Code != want {
			t.Errorf("%.100s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
	for body, want := range map[string]int{
		`{"signatures": [` + text + `]}`:                    http.StatusBadRequest,
		`{"signatures": [], "id": "text:2c624232cdd22177"}`: http.StatusUnprocessableEntity,
	} {
		if w := answerTo(h, process(0), http.MethodPost, "/v1/revoke/id", body); w.Code != want {
			t.Errorf("revoke %.100s: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
}

// What the client declares to be no message is refused at the door of the daemon.
func TestNoHeaderIsRefused(t *testing.T) {
	s := desktest.New(t, desktest.TwoNeeded, 0)
	h := NewHandler(s.Desk, HandlerOptions{Decide: desktest.Decide})
	program := desktest.Letter(1, 0)
	program.NoHeader = true
	for path, question := range map[string]any{
		"/v1/report": api.NewRequest(program), "/v1/revoke": api.NewRequest(program), "/v1/never": api.NeverRequest{Request: api.NewRequest(program)},
	} {
		w := answerTo(h, process(0), http.MethodPost, path, asJSON(t, question))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"detail":"not an e-mail message: no header"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := answerTo(h, process(0), http.MethodPost, "/v1/check", asJSON(t, api.NewRequest(program))); w.Code != http.StatusOK {
		t.Errorf("a question: %d %s", w.Code, w.Body)
	}
}
