package reporting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// served is the control API of a stage.
func (s *stage) served(t *testing.T, o HandlerOptions, change func(*http.Server)) (*Client, *logBuffer) {
	t.Helper()
	server, log := s.server(o, change)
	client, err := Dial("unix:" + listenAndServe(t, server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, log
}

func (s *stage) server(o HandlerOptions, change func(*http.Server)) (*http.Server, *logBuffer) {
	log := &logBuffer{}
	o.Decide, o.Log, o.Version = decide, slog.New(slog.NewTextHandler(log, nil)), "1.2.3"
	server := NewServer(NewHandler(s.Desk, o), o.Log)
	if change != nil {
		change(server)
	}
	return server, log
}

func exportOf(t *testing.T, c *Client) []byte {
	t.Helper()
	var b bytes.Buffer
	head, err := c.Export(t.Context(), &b)
	if err != nil || head.Site != "mx1" || head.Version != "1.2.3" || head.KeyID == "" {
		t.Fatal(head, err)
	}
	return b.Bytes()
}

// Two machines become one: what has the quorum only by the reports of both is listed.
func TestImportReachesQuorum(t *testing.T) {
	a, b := newStage(t, twoNeeded, 0), newStage(t, twoNeeded, 0)
	set := testSet("body", "text")
	for who, s := range map[string]*stage{"anna": a, "bob": b} {
		if o, err := s.Report(Report{Set: set, Reporter: who}); err != nil || o.Evidence.Listed {
			t.Fatal(o, err)
		}
	}
	from, _ := a.served(t, HandlerOptions{}, nil)
	to, _ := b.served(t, HandlerOptions{Folder: t.TempDir()}, nil)
	data := exportOf(t, from)
	for i, want := range []Transferred{{Reports: 1, Reporters: 1}, {Known: 1}} {
		got, err := to.Import(t.Context(), bytes.NewReader(data), false)
		if err != nil {
			t.Fatal(err)
		}
		if got.From.Site != "mx1" || got.Filters == nil || got.Reports != want.Reports || got.Known != want.Known || got.Reporters != want.Reporters || (got.Decisions > 0) != (i == 0) {
			t.Errorf("import %d: %+v", i, got)
		}
		if !b.db.Judge(set).Listed {
			t.Errorf("import %d: not listed", i)
		}
	}
	again := exportOf(t, to)
	if got, err := from.Import(t.Context(), bytes.NewReader(again), true); err != nil || got.Reports != 2 || got.Filters != nil || !a.db.Judge(set).Listed {
		t.Errorf("back, without filters: %+v, %v", got, err)
	}
}

// Whatever is wrong with an import, nothing of it is taken, and the answer says what.
func TestImportRefused(t *testing.T) {
	a, b := newStage(t, trust.Default(), 0), newStage(t, trust.Default(), 0)
	if _, err := a.Report(Report{Set: testSet("body", "text"), Reporter: "anna"}); err != nil {
		t.Fatal(err)
	}
	from, _ := a.served(t, HandlerOptions{}, nil)
	to, _ := b.served(t, HandlerOptions{}, nil)
	data := exportOf(t, from)
	refused := func(what string, body io.Reader, status int, detail string) {
		t.Helper()
		_, err := to.Import(t.Context(), body, false)
		var p *Problem
		if !errors.As(err, &p) || p.Status != status || !strings.Contains(p.Detail, detail) {
			t.Fatalf("%s: %v; want %d %s", what, err, status, detail)
		}
		if s, err := b.ledger.Status(); err != nil || s.Reports+s.Reporters != 0 || b.db.Judge(testSet("body", "text")).Listed {
			t.Fatalf("%s: taken %+v, %v", what, s, err)
		}
	}
	for n := 0; n < len(data); n += 1 + len(data)/300 {
		refused(fmt.Sprintf("cut at %d of %d", n, len(data)), bytes.NewReader(data[:n]), 422, "no whole export: ")
		damaged := bytes.Clone(data)
		damaged[n] ^= 0x40
		refused(fmt.Sprintf("damaged at %d of %d", n, len(data)), bytes.NewReader(damaged), 422, "no whole export: ")
	}
	refused("more than it takes to be no export", bytes.NewReader(make([]byte, 64<<20)), 422, "it does not begin as one")
	// A good stream around what is no ledger, and no filters.
	refused("no ledger", bytes.NewReader(streamOf(t, []byte("reports"), []byte("bits"))), 422, "no whole export of a ledger: ")
	if _, err := to.Import(t.Context(), bytes.NewReader(data), false); err != nil {
		t.Error(err)
	}
}

// Only who administrates may take the state, or bring one; a large body in a refused
// request does no harm.
func TestTransferNeedsAdministrator(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	access := NewAccess(AccessOptions{DaemonUID: 100})
	c, _ := s.served(t, HandlerOptions{Access: access}, func(server *http.Server) {
		inner := server.Handler
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), originKey{}, process(4711))))
		})
	})
	var out bytes.Buffer
	for name, do := range map[string]func() error{
		"export": func() error { _, err := c.Export(t.Context(), &out); return err },
		"import": func() error {
			_, err := c.Import(t.Context(), bytes.NewReader(make([]byte, 64<<20)), false)
			return err
		},
	} {
		var p *Problem
		if err := do(); !errors.As(err, &p) || p.Status != http.StatusForbidden || !strings.Contains(p.Detail, "administrate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("exported %d bytes to nobody", out.Len())
	}
}

// slowly gives a little at a time.
type slowly struct {
	ctx  context.Context
	data []byte
	tick *time.Ticker
}

func (s *slowly) Read(b []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	select {
	case <-s.tick.C:
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	n := copy(b[:min(len(b), 1+len(s.data)/10)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// The bounds of small requests do not cut a stream in which something moves.
func TestTransferTakesItsTime(t *testing.T) { synctest.Test(t, transferTakesItsTime) }

func transferTakesItsTime(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	for i := range 300 {
		if _, err := s.Report(Report{Set: testSet(fmt.Sprint("body", i), fmt.Sprint("text", i)), Reporter: fmt.Sprint("user", i%8)}); err != nil {
			t.Fatal(err)
		}
	}
	ln := newPipes()
	server, _ := s.server(HandlerOptions{}, nil)
	serveOn(t, ln, server)
	c := ln.client(t)
	tick := time.NewTicker(max(server.ReadTimeout, server.WriteTimeout) / 5) // ten reads and more
	defer tick.Stop()
	got, err := c.Import(t.Context(), &slowly{t.Context(), exportOf(t, c), tick}, false)
	if err != nil || got.Known != 300 || got.Reports != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where the import cannot be kept, or another one is at work, that is said.
func TestImportCannotBeKept(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	c, log := s.served(t, HandlerOptions{Folder: filepath.Join(t.TempDir(), "gone")}, nil)
	var p *Problem
	if _, err := c.Import(t.Context(), bytes.NewReader(exportOf(t, c)), false); !errors.As(err, &p) || p.Status != http.StatusInternalServerError || !strings.Contains(log.String(), "keep the import") {
		t.Errorf("%v; log: %s", err, log)
	}
	if err := receive(failing{}, bytes.NewReader(streamOf(t, nil, nil))); err == nil || !strings.Contains(err.Error(), "keep the import: disk full") {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOneImportAtATime(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	c, _ := s.served(t, HandlerOptions{}, nil)
	data := exportOf(t, c)
	h := &handler{desk: s.Desk, HandlerOptions: HandlerOptions{Log: slog.New(slog.DiscardHandler)}}
	h.importing.Lock() // there is one at work
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		w := httptest.NewRecorder()
		h.importState(w, httptest.NewRequest(http.MethodPost, "/v1/import", bytes.NewReader(data)))
		if w.Code != want || want != http.StatusOK && !strings.Contains(w.Body.String(), "another import is at work") {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
		if want != http.StatusOK {
			h.importing.Unlock() // and it ends
		}
	}
}

func TestImportParameters(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	c, _ := s.served(t, HandlerOptions{}, nil)
	for _, query := range []string{"?reports_only=1", "?reports_only", "?reports_only=true&reports_only=true", "?reports-only=true"} {
		var p *Problem
		if _, err := c.stream(t.Context(), http.MethodPost, "/v1/import"+query, strings.NewReader("")); !errors.As(err, &p) || p.Status != http.StatusBadRequest {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// An export that fails on its way is told from a whole one.
func TestExportBreaksOff(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	for i := range 1000 {
		if _, err := s.Report(Report{Set: testSet(fmt.Sprint("body", i)), Reporter: fmt.Sprint("user", i%8)}); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := s.served(t, HandlerOptions{}, func(server *http.Server) {
		inner := server.Handler
		server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(&breaking{ResponseWriter: w, left: 70_000}, r)
		})
	})
	var out bytes.Buffer
	if _, err := c.Export(t.Context(), &out); !errors.Is(err, ErrExport) || out.Len() == 0 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// breaking is a connection that fails.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the wire is cut")
	}
	return b.ResponseWriter.Write(p)
}
