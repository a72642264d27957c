package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/internal/trap"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/privacy"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/sockets"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/server"
	"github.com/spambloom/spambloom/reporting/watch"
	"github.com/spambloom/spambloom/signature"
)

// monitored is a server with a database, as used by the HTTP listener.
func monitored(t testing.TB) (*service, http.Handler) {
	d, _ := withDatabase(t, [32]byte{1}, nil)
	return d, d.newHTTP().Handler
}

// withDatabase returns a server with a small database for a key, and possibly a previous
// one.
func withDatabase(t testing.TB, key [32]byte, previous *[32]byte) (*service, bloomdb.Options) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := &settings.Settings{Config: config.Default(), Data: t.TempDir(), Name: "mx1"}
	o := s.DatabaseOptions(key, log)
	o.PreviousKey = previous
	o.Reports.Capacity, o.Counts.Capacity = 1000, 1000
	db, err := bloomdb.Open(o)
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &service{started: s, current: s, systemd: &supervisor{log: log}, log: log, db: db, desk: testDesk(t, db), door: server.NewDoor(server.DoorOptions{}), milter: milter.NewServer(db, s.MilterOptions(s.Name, log)), pseudonyms: new(privacy.Pseudonyms)}
	d.judged = judged.New(db.Now(), 1<<20)
	d.newTraps()
	d.openHistory()
	return d, o
}

// monitorGet sends a request like a local monitor.
func monitorGet(path string) *http.Request {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "127.0.0.1:8898"
	return r
}

// A page that points its own name at this port (DNS rebinding) reads nothing.
func TestHTTPNames(t *testing.T) {
	d, _ := monitored(t)
	d.started.HTTP.Listen, d.started.HTTP.Names = "monitor.example:8898", []string{"Proxy.example"}
	d.serving.Store(true)
	h := d.newHTTP().Handler
	host, err := os.Hostname()
	testenv.Check(t, err)
	for name, want := range map[string]int{
		"127.0.0.1:8898": 200, "[::1]:8898": 200, "::1": 200, "192.0.2.1": 200, "": 200,
		"localhost:8898": 200, "LocalHost.": 200, "mx1": 200, host: 200, "monitor.example:8898": 200, "proxy.example": 200,
		"attacker.example:8898": 421, "localhost.attacker.example": 421, "127.0.0.1.attacker.example": 421, "proxy.example.attacker.example": 421, "[": 421,
	} {
		for _, path := range []string{"/", "/metrics", "/readyz", "/healthz"} {
			r, w := monitorGet(path), httptest.NewRecorder()
			r.Host = name
			h.ServeHTTP(w, r)
			if w.Code != want || want != 200 && strings.Contains(w.Body.String(), "mx1") {
				t.Errorf("Host %q, %s: %d, want %d\n%s", name, path, w.Code, want, w.Body)
			}
		}
	}
}

func TestReadiness(t *testing.T) {
	d, h := monitored(t)
	for _, c := range []struct {
		path    string
		serving bool
		want    int
	}{
		{"/readyz", false, 503}, {"/readyz", true, 200}, {"/readyz", false, 503},
		{"/healthz", false, 200}, {"/healthz", true, 200},
		{"/", true, 200}, {"/nonsense", true, 404},
	} {
		d.serving.Store(c.serving)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, monitorGet(c.path))
		if w.Code != c.want {
			t.Errorf("GET %s, serving %v: %d, want %d", c.path, c.serving, w.Code, c.want)
		}
	}
	w := httptest.NewRecorder()
	post := monitorGet("/healthz")
	post.Method = http.MethodPost
	h.ServeHTTP(w, post)
	if w.Code != 405 {
		t.Errorf("POST /healthz: %d, want 405", w.Code)
	}
}

// The name of a file in a trap, which a user chose, adds no line.
func TestFaultIsOneLine(t *testing.T) {
	d, h := monitored(t)
	d.serving.Store(true)
	lure := trap.New(trap.Options{Maildir: t.TempDir() + "/a\ndamaged: \x1b[2J", Log: d.log})
	d.traps = map[string]*trap.Trap{"lure": lure}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for end := time.Now().Add(testenv.Patience); lure.Status().Fault == "" && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}()
	lure.Run(ctx)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, monitorGet("/readyz"))
	if got := w.Body.String(); !strings.Contains(got, "trap lure: ") || strings.Contains(got, "\ndamaged") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}

// After a reload, the page signs the part of a message that the milter then keeps, and the heap has room for it.
func TestPageFollowsMaxMessage(t *testing.T) {
	d, _ := monitored(t)
	most, s := d.pageOptions().MaxMessage, *d.started
	s.Milter.MaxMessage, s.HTTP.Listen = 64<<20, "127.0.0.1:0"
	before := memoryLimit(d.milter, d.doorMemory.Load(), d.db)
	if d.reloadLimit(&s); most() != s.Milter.MaxMessage {
		t.Errorf("the page keeps %d bytes, the milter %d", most(), s.Milter.MaxMessage)
	}
	if more := memoryLimit(d.milter, d.doorMemory.Load(), d.db) - before; more < 300<<20 {
		t.Errorf("the heap has %d bytes more for four messages", more)
	}
}

// If no message is judged in time, monitoring reports this and the reason.
func TestNotReadyWhileMailIsNotJudged(t *testing.T) {
	d, h := monitored(t)
	d.serving.Store(true)
	o := d.started.MilterOptions("mx1", d.log)
	o.JudgeTimeout = time.Nanosecond
	o.LocalNetworks = nil
	d.milter.Reload(o)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- d.milter.Serve("", ln) }()
	for range 100 { // some of which may be judged in time by chance
		sendMilter(t, ln.Addr().String(), harness.Text())
	}
	for path, want := range map[string]string{
		"/readyz": "mail is not judged: ", "/": "Mail passes unchecked.", "/metrics": "spambloom_milter_failures_total",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, monitorGet(path))
		if !strings.Contains(w.Body.String(), want) || path == "/readyz" && w.Code != 503 {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
	if f := d.facts(); f.Fault == "" || f.Load.Connections > 100 {
		t.Errorf("facts %+v", f)
	}
	if err := d.milter.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// sendMilter sends a message from a foreign address, like an MTA.
func sendMilter(t *testing.T, addr, body string) {
	t.Helper()
	c := gomilter.NewClientWithOptions("tcp", addr, gomilter.ClientOptions{ActionMask: 0x3f})
	s, err := c.Session()
	testenv.Check(t, err)
	defer s.Close()
	step := func(_ *gomilter.Action, err error) {
		testenv.Check(t, err)
	}
	step(s.Conn("client.example", gomilter.FamilyInet, 25, "192.0.2.1"))
	step(s.Mail("sender@example.org", nil))
	step(s.Rcpt("recipient@example.org", nil))
	step(s.HeaderField("Content-Type", "text/plain"))
	step(s.HeaderEnd())
	if _, _, err := s.BodyReadFrom(strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
}

// The metrics and the page show the status of the database.
func TestStatusIsShown(t *testing.T) {
	d, h := monitored(t)
	set := signature.Compute(signature.Parse([]byte(harness.Message(harness.Text()))))
	testenv.Check(t, d.db.Report(set, bloomdb.ClassOther))
	testenv.Check(t, d.db.Count(set, 1))
	if _, err := d.db.Retouch(set); err != nil {
		t.Fatal(err)
	}
	for path, wants := range map[string][]string{
		"/":        {"<title>Today · spambloom on mx1</title>", "This site works alone.", "judged, 24\u00a0h"},
		"/filters": {"<td>spam</td>", "<td>counts</td>", "federation key"},
		"/sites":   {"<td>mx1</td><td>this site</td>"},
		"/metrics": {
			`spambloom_db_filter_fill_ratio{filter="spam",generation="`, `spambloom_db_filter_memory_bytes{filter="counts",`,
			`spambloom_db_site_cells{origin="mx1"}`, `spambloom_site_state{origin="mx1",state="self"} 1`, `spambloom_site_error_share_ratio{origin="mx1"}`, "spambloom_db_journal_fault 0",
			`spambloom_db_masked_positions{generation="`, `spambloom_db_masked_listings_lost{generation="`,
			"spambloom_db_never_messages 0", "spambloom_db_never_spared_total 0", "spambloom_db_burst_fill_ratio ", "spambloom_db_burst_memory_bytes ", "spambloom_build_info{version=",
			"spambloom_milter_connections 0", "process_open_fds", "go_goroutines",
		},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, monitorGet(path))
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("GET %s lacks %q:\n%s", path, want, w.Body)
			}
		}
	}
}

// crowd is a listener with n waiting clients.
type crowd chan net.Conn

// newCrowd also returns the clients' ends.
func newCrowd(n int) (c crowd, clients []net.Conn) {
	c = make(crowd, n)
	for range n {
		client, served := net.Pipe()
		clients = append(clients, client)
		c <- served
	}
	return c, clients
}

// isOpen reports whether the other end of a pipe is open.
func isOpen(conn net.Conn) bool {
	if conn.SetReadDeadline(time.Now()) != nil {
		return false
	}
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func (c crowd) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (c crowd) Close() error { close(c); return nil }

func (crowd) Addr() net.Addr { return &net.UnixAddr{} }

// Clients of the control API and of monitoring that connect and stay can neither use up the
// file descriptors needed for the mail server's connections, nor lock out a new client.
func TestConnectionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := monitored(t)
		control, controlClients := newCrowd(300)
		monitoring, monitoringClients := newCrowd(300)
		s := &sockets.Sockets{Control: control, HTTP: monitoring}
		testenv.Check(t, d.assemble(s))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.run(ctx, nil, s) }()
		synctest.Wait()
		for _, c := range []struct {
			name    string
			clients []net.Conn
			want    int
		}{{"control", controlClients, 256}, {"http", monitoringClients, maxHTTP}} {
			open := 0
			for _, conn := range c.clients {
				if isOpen(conn) {
					open++
				}
			}
			if last := c.clients[len(c.clients)-1]; open != c.want || !isOpen(last) {
				t.Errorf("%s: %d connections are open, want %d; the last one %v", c.name, open, c.want, isOpen(last))
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		d.systemd.close()
	})
}

// The desk shows a peer that never published next to one that did, as reported by the
// exchange.
func TestSitesAreShown(t *testing.T) {
	heard := time.Now()
	links := linksOf([]exchange.SiteStatus{{
		Site: "mx2", Lag: 7, LagSeconds: 3, Heard: &heard, Gaps: 2, Loading: &exchange.Progress{Chunks: 3, Of: 12},
		Refused: map[string]int64{"unsigned": 4, "full": 1},
	}, {Site: "mx4", Known: heard}}, wire.Members{"mx2": {}, "mx3": {Trust: wire.TrustVote}})
	d, _ := monitored(t)
	sites := testDesk(t, d.db).Sites(links)
	states := map[string]string{}
	for _, site := range sites {
		states[site.Site] = site.State
	}
	if states["mx2"] != api.StateLoading || states["mx3"] != api.StateSilent || states["mx1"] != api.StateSelf {
		t.Errorf("states %v", states)
	}
	// mx4, which is new, may still be heard.
	if needs := watch.SiteNeeds(sites, heard.Add(-time.Hour), heard.Add(time.Second)); len(needs) != 1 || !strings.HasPrefix(needs[0].Text, "mx3 has not been heard") {
		t.Errorf("needs %+v", needs)
	}
}
