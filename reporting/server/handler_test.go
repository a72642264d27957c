package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) {
	testenv.InMemory()
	goleak.VerifyTestMain(m)
}

// logBuffer collects the server's log.
type logBuffer = testenv.Log

// control is a running control API.
type control struct {
	db     *bloomdb.DB
	desk   *desk.Desk
	socket string
	client *client.Client
	log    *logBuffer
}

// serve runs a control API on a unix socket until the test's end.
func serve(t *testing.T) *control {
	t.Helper()
	c := &control{db: desktest.OpenDB(t), log: &logBuffer{}}
	log := slog.New(slog.NewTextHandler(c.log, nil))
	c.desk = desk.New(c.db, desktest.OpenLedger(t, trust.Default()), desk.Options{Log: log})
	h := NewHandler(c.desk, HandlerOptions{
		Decide:  desktest.Decide,
		Version: "1.2.3",
		Status:  func() any { return map[string]int{"sessions": 7} },
		Sites: func() []api.Site {
			return c.desk.Sites([]api.Link{{Site: "mx3", Lag: 3, Refused: map[string]int64{"unsigned": 2}}})
		},
		Log: log,
	})
	c.socket = listenAndServe(t, New(h, log))
	var err error
	if c.client, err = client.Dial("unix:" + c.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.client.Close()
		if err := c.db.Check(); err != nil {
			t.Error(err)
		}
		if err := c.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestReportCheckRevoke(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := api.NewRequest(desktest.Set("body", "text"))
	r.Reporter, r.Class = "anna@example.org", bloomdb.ClassPhish
	id := desktest.Set("body", "text").Counting[0].ID()

	check := func(want api.Answer) {
		t.Helper()
		got, err := client.Post(ctx, c.client, v1.Check, r)
		testenv.Check(t, err)
		if a, b := asJSON(t, got), asJSON(t, want); a != b {
			t.Errorf("check says %s; want %s", a, b)
		}
	}
	check(api.Answer{Verdict: "clean", ID: id})

	testenv.Check(t, c.db.Count(desktest.Set("body", "text"), 3))
	check(api.Answer{Verdict: "clean", Count: 3, Sites: 1, ID: id})

	receipt, err := client.Post(ctx, c.client, v1.Report, r)
	testenv.Check(t, err)
	if len(receipt.IDs) != 2 || receipt.IDs[1] != id {
		t.Errorf("receipt %v", receipt.IDs)
	}
	spam := api.Answer{Verdict: "spam", Class: bloomdb.ClassPhish, Kinds: []string{"body", "text"}, Count: 3, Sites: 1, ID: receipt.IDs[0]}
	check(spam)
	if line := c.log.String(); strings.Count(line, "report accepted") != 1 ||
		!strings.Contains(line, "reporter=anna@example.org class=phish origin.uid=") ||
		!strings.Contains(line, id) {
		t.Errorf("log %q", line)
	}

	if _, err := client.Post(ctx, c.client, v1.Revoke, r); err != nil {
		t.Fatal(err)
	}
	check(api.Answer{Verdict: "clean", Count: 3, Sites: 1, ID: id})
	wantMetric(t, c.desk, `spambloom_reports_total{action="revoke",class="phish"} 1`)
}

// The newest word wins, until a period has seen too many; then the answer says so, and until
// when. One of which something else is listed is plain spam.
func TestReportAfterRevoke(t *testing.T) {
	c, ctx := serve(t), t.Context()
	r := api.NewRequest(desktest.Set("body", "text"))
	for i := range 8 { // as often as one reporter may
		do, verdict := v1.Report, "spam"
		if i%2 == 1 {
			do, verdict = v1.Revoke, "clean"
		}
		receipt, err := client.Post(ctx, c.client, do, r)
		testenv.Check(t, err)
		if receipt.Verdict != verdict || !receipt.RevokedUntil.IsZero() || receipt.Holds == "" {
			t.Errorf("step %d: %s", i+1, asJSON(t, receipt))
		}
	}
	if log := c.log.String(); strings.Count(log, "listed=true") != 4 || strings.Count(log, "listed=false") != 4 {
		t.Errorf("log %q", log)
	}
	other, err := client.Post(ctx, c.client, v1.Report, api.NewRequest(desktest.Set("other body", "text")))
	if err != nil || other.Verdict != "spam" || !other.RevokedUntil.IsZero() {
		t.Errorf("with another body: %s, %v", asJSON(t, other), err)
	}
}

func TestExplain(t *testing.T) {
	c, ctx := serve(t), t.Context()
	set := desktest.Set("body", "text")
	testenv.Check(t, c.db.Count(set, 5))
	if _, err := client.Post(ctx, c.client, v1.Report, api.NewRequest(desktest.Set("other body", "text"))); err != nil {
		t.Fatal(err)
	}
	x, err := client.Post(ctx, c.client, v1.Explain, api.SenderRequest{Request: api.NewRequest(set)})
	testenv.Check(t, err)
	if x.Verdict != "spam" || len(x.Signatures) != 2 {
		t.Fatalf("%+v", x)
	}
	body, text := x.Signatures[0], x.Signatures[1]
	if body.Listed || body.Spam != nil || !text.Listed || text.ID != x.ID {
		t.Errorf("body %+v, text %+v", body, text)
	}
	week := time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC) // 1970 began on a Thursday
	if len(text.Spam) != 1 || text.Spam[0].Site != "mx1" || !text.Spam[0].Start.Equal(week) {
		t.Errorf("spam %+v", text.Spam)
	}
	if len(text.Counts) != 1 || text.Counts[0].Count != 5 || text.Revoked != nil {
		t.Errorf("counts %+v, revoked %+v", text.Counts, text.Revoked)
	}
}

func TestStatus(t *testing.T) {
	c := serve(t)
	s, err := client.Get(t.Context(), c.client, v1.Status)
	testenv.Check(t, err)
	if s.Version != "1.2.3" || s.Database.Site != "mx1" || string(s.Daemon) != `{"sessions":7}` {
		t.Errorf("%+v", s)
	}
}

// Messages without signatures are refused on report, skipped on check.
func TestTooLittleContent(t *testing.T) {
	c, ctx := serve(t), t.Context()
	for name, do := range map[string]v1.Post[api.Request, api.Receipt]{"report": v1.Report, "revoke": v1.Revoke} {
		_, err := client.Post(ctx, c.client, do, api.Request{})
		var p *api.Problem
		if !errors.As(err, &p) || p.Status != 422 || p.Detail != "too little content to sign" {
			t.Errorf("%s: %v", name, err)
		}
		wantMetric(t, c.desk, `spambloom_reports_refused_total{action="`+name+`",reason="too_little_content"} 1`)
	}
	if a, err := client.Post(ctx, c.client, v1.Check, api.Request{}); err != nil || a.Verdict != "skipped" {
		t.Errorf("check: %+v, %v", a, err)
	}
}

// Whatever is wrong with a request, the answer is a problem with a sentence.
func TestProblems(t *testing.T) {
	c := serve(t)
	raw := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", c.socket) }}}
	defer raw.CloseIdleConnections()
	digest := strings.Repeat("ab", 32)
	signatures := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"kind":"attachment","digest":"%064x","counting":true}`, i))
		}
		return `{"signatures":[` + strings.Join(list, ",") + `]}`
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"GET", "/v1/check", "", 405, "/v1/check takes POST"},
		{"POST", "/v1/status", "{}", 405, "/v1/status takes GET"},
		{"GET", "/", "", 404, `there is no "/"`},
		{"POST", "/v2/report", "{}", 404, `there is no "/v2/report"`},
		{"POST", "/v1/report", "", 400, "EOF"},
		{"POST", "/v1/report", "spam", 400, "invalid character"},
		{"POST", "/v1/report", "[]", 400, "cannot unmarshal array"},
		{"POST", "/v1/report", `{"signatures":[]} {}`, 400, "more follows the object"},
		{"POST", "/v1/report", `{"signature":[]}`, 400, `unknown field "signature"`},
		{"POST", "/v1/report", `{"signatures":[{"kind":"smell","digest":"` + digest + `"}]}`, 400, `signature 1: unknown signature kind "smell"`},
		{"POST", "/v1/report", `{"signatures":[{"kind":"body","digest":"abcd"}]}`, 400, "digest of 4 characters; want 64 hex digits"},
		{"POST", "/v1/report", `{"signatures":[{"kind":"body","digest":"` + strings.Repeat("xy", 32) + `"}]}`, 400, "signature 1: digest"},
		{"POST", "/v1/check", signatures(37), 400, "37 signatures; at most 36"},
		{"POST", "/v1/check", signatures(signature.MaxAttachments + 1), 400, `signature 17: more than 16 of kind "attachment"`},
		{"POST", "/v1/report", strings.ReplaceAll(signatures(2), "attachment", "text"), 400, `signature 2: a second one of kind "text"`},
		{"POST", "/v1/report", strings.ReplaceAll(signatures(1), "attachment", "domain"), 400, `signature 1: kind "domain" is not one of signatures`},
		{"POST", "/v1/report", strings.ReplaceAll(signatures(1), "attachment", "sketch"), 400, `signature 1: kind "sketch" is not one of signatures`},
		{"POST", "/v1/report", `{"sketches":[{"kind":"image"},{"kind":"sketch"}]}`, 400, "sketch 2: those of the text are the first ones, at most 4"},
		{"POST", "/v1/report", `{"sketches":[{"kind":"sketch"},{"kind":"sketch"}]}`, 400, "sketch 2: of the first two of the text, one is only asked"},
		{"POST", "/v1/report", `{"sketches":[{"kind":"sketch"},{"kind":"sketch","ask_only":true},{"kind":"sketch"},{"kind":"sketch"},{"kind":"sketch"}]}`, 400, "sketch 5: those of the text are the first ones, at most 4"},
		{"POST", "/v1/report", `{"domains":["example.com"],"carried":2}`, 400, "carried 2 of 1 domains"},
		{"POST", "/v1/report", `{"carried":-1}`, 400, "carried -1 of 0 domains"},
		{"POST", "/v1/check", signatures(3), 400, "3 counting signatures; at most 2"},
		{"POST", "/v1/check", strings.Replace(signatures(3), "0002", "0001", 1), 400, "signature 3 stands there twice"},
		{"POST", "/v1/report", `{"class":"cheese"}`, 400, `unknown class "cheese"; want one of [phish`},
		{"POST", "/v1/report", `{"reporter":"a b"}`, 400, "is not allowed in a name"},
		{"POST", "/v1/report", `{"reporter":"a\nb"}`, 400, "is not allowed in a name"},
		{"POST", "/v1/report", `{"reporter":"` + strings.Repeat("x", 255) + `"}`, 400, "reporter of 255 bytes"},
		{"POST", "/v1/report", `{"reporter":"` + strings.Repeat("x", api.MaxBody) + `"}`, 413, "over 2097152 bytes"},
	} {
		request, err := http.NewRequest(test.method, "http://spambloom"+test.path, strings.NewReader(test.body))
		testenv.Check(t, err)
		response, err := raw.Do(request)
		testenv.Check(t, err)
		var p api.Problem
		err = json.NewDecoder(response.Body).Decode(&p)
		response.Body.Close()
		if err != nil || response.StatusCode != test.status || p.Status != test.status ||
			response.Header.Get("Content-Type") != "application/problem+json" ||
			p.Type != "about:blank" || p.Title == "" || !strings.Contains(p.Detail, test.detail) {
			t.Errorf("%s %s %.60s: %d %+v %v; want %d with %q", test.method, test.path, test.body,
				response.StatusCode, p, err, test.status, test.detail)
		}
	}
}

func TestClosedDatabase(t *testing.T) {
	db := desktest.OpenDB(t)
	d := desk.New(db, desktest.OpenLedger(t, trust.Default()), desk.Options{})
	testenv.Check(t, db.Close())
	_, err := d.Report(desk.Report{Set: desktest.Set("body", "text")})
	if p := problemOf(err); p.Status != http.StatusServiceUnavailable {
		t.Errorf("%v is answered %d %s", err, p.Status, p.Detail)
	}
	wantMetric(t, d, `spambloom_reports_refused_total{action="report",reason="closing"} 1`)
}

// wantMetric looks for a line among what a scrape would show.
func wantMetric(t *testing.T, d *desk.Desk, line string) {
	t.Helper()
	desktest.WantMetric(t, d.Collectors(), line)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	testenv.Check(t, err)
	return string(data)
}

// A daemon that is stuck does not hold its clients for ever.
func TestStuckDaemon(t *testing.T) {
	synctest.Test(t, stuckDaemon)
}

func stuckDaemon(t *testing.T) {
	release, ln := make(chan struct{}), newPipes()
	serveOn(t, ln, New(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }), nil))
	c := ln.client(t)
	defer close(release)
	_, err := client.Get(t.Context(), c, v1.Status)
	if err == nil || errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "ask the daemon: it has not answered within 30s") {
		t.Errorf("%v", err)
	}
}

// A client that stops in the middle of its request is cut, and others are
// served meanwhile.
func TestSlowClient(t *testing.T) { synctest.Test(t, slowClient) }

func slowClient(t *testing.T) {
	ln := newPipes()
	serveOn(t, ln, New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }), nil))
	conn := ln.connect(t)
	if _, err := io.WriteString(conn, "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Le"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), ln.client(t), v1.Status); err != nil {
		t.Error(err)
	}
	// The read ends only because the server gives the connection up.
	if rest, err := io.ReadAll(conn); err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestServerIsBounded(t *testing.T) {
	s := New(http.NotFoundHandler(), nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Error("a client may take for ever")
	}
	path := listenAndServe(t, s)
	conn, err := net.Dial("unix", path)
	testenv.Check(t, err)
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
	if reply, _ := io.ReadAll(conn); !bytes.HasPrefix(reply, []byte("HTTP/1.1 431")) {
		t.Errorf("a header of 64 KiB is answered %.60q", reply)
	}
}
