package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// served is the control API of a stage.
func served(t *testing.T, s *desktest.Stage, o HandlerOptions, change func(*http.Server)) (*client.Client, *logBuffer) {
	t.Helper()
	server, log := serverOf(s, o, change)
	c, err := client.Dial("unix:" + listenAndServe(t, server))
	testenv.Check(t, err)
	t.Cleanup(c.Close)
	return c, log
}

func serverOf(s *desktest.Stage, o HandlerOptions, change func(*http.Server)) (*http.Server, *logBuffer) {
	log := &logBuffer{}
	o.Decide, o.Log, o.Version = desktest.Decide, slog.New(slog.NewTextHandler(log, nil)), "1.2.3"
	server := New(NewHandler(s.Desk, o), o.Log)
	if change != nil {
		change(server)
	}
	return server, log
}

// reported enters so many reports.
func reported(t *testing.T, n int) *desktest.Stage {
	t.Helper()
	s := desktest.New(t, trust.Default(), 0)
	for i := range n {
		s.MustReport(fmt.Sprint("user", i%8), desktest.Set(fmt.Sprint("body", i), fmt.Sprint("text", i)))
	}
	return s
}

func TestBackup(t *testing.T) {
	s := reported(t, 20)
	c, log := served(t, s, HandlerOptions{Folder: "/state", Keys: []string{"/etc/key"}}, nil)
	var out bytes.Buffer
	testenv.Check(t, c.Backup(t.Context(), &out))
	sum, err := backup.Read(&out, t.TempDir())
	if err != nil || sum.Site != "mx1" || sum.Program != "1.2.3" || sum.Reports != 20 || sum.Reporters != 8 || !sum.Made.Equal(s.DB.Now()) || len(sum.Without) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if !strings.Contains(log.String(), "backup written") {
		t.Error(log)
	}
}

// Only an administrator gets the state, and with it the keys.
func TestBackupNeedsAdministrator(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	for what, o := range map[string]desk.Origin{"a member": process(4711, 100), "a delegate": process(200, 100), "a mail store": {Client: "store1"}, "nobody": {}} {
		access := NewAccess(AccessOptions{DaemonUID: 100, Group: "spambloom", GID: 100, Delegates: []string{"vmail"}})
		access.names.Lookup = lookupUser
		c, _ := served(t, s, HandlerOptions{Access: access}, func(server *http.Server) {
			inner := server.Handler
			server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), originKey{}, o)))
			})
		})
		var out bytes.Buffer
		var p *api.Problem
		if err := c.Backup(t.Context(), &out); !errors.As(err, &p) || p.Status != http.StatusForbidden || out.Len() > 0 {
			t.Errorf("%s: %d bytes, %v", what, out.Len(), err)
		}
	}
}

func TestOneBackupAtATime(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	h := &handler{desk: s.Desk, HandlerOptions: HandlerOptions{Log: slog.New(slog.DiscardHandler)}}
	h.backing.Lock() // there is one at work
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		w := httptest.NewRecorder()
		h.backup(w, httptest.NewRequest(http.MethodGet, "/v1/backup", nil), caller{})
		if w.Code != want || want != http.StatusOK && !strings.Contains(w.Body.String(), "another backup is at work") {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
		if want != http.StatusOK {
			h.backing.Unlock() // and it ends
		}
	}
}

// A key file that is gone is said before the answer begins, or breaks it off: never a
// whole backup without it.
func TestBackupBreaksOff(t *testing.T) {
	s := reported(t, 300)
	dir := t.TempDir()
	c, log := served(t, s, HandlerOptions{Folder: dir, Keys: []string{dir + "/site.key"}}, nil)
	var out bytes.Buffer
	err := c.Backup(t.Context(), &out)
	if err == nil || !strings.Contains(log.String(), "site.key: no such file") {
		t.Errorf("%v; log: %s", err, log)
	}
	if _, err := backup.Read(&out, t.TempDir()); !errors.Is(err, backup.ErrBackup) {
		t.Errorf("%d bytes: %v", out.Len(), err)
	}
	c, _ = served(t, s, HandlerOptions{}, nil)
	if err := c.Backup(t.Context(), failing{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// slowly takes a little at a time.
type slowly struct {
	w    io.Writer
	tick *time.Ticker
}

func (s *slowly) Write(b []byte) (int, error) {
	<-s.tick.C
	return s.w.Write(b)
}

// The bounds of small requests do not cut a backup in which something moves; one of which
// nothing moves is cut, and the ledger can be closed.
func TestBackupTakesItsTime(t *testing.T) { synctest.Test(t, backupTakesItsTime) }

func backupTakesItsTime(t *testing.T) {
	s := reported(t, 300)
	ln := newPipes()
	server, log := serverOf(s, HandlerOptions{}, nil)
	serveOn(t, ln, server)
	c := ln.client(t)
	tick := time.NewTicker(max(server.ReadTimeout, server.WriteTimeout) / 5) // ten writes and more
	defer tick.Stop()
	begun := time.Now()
	var out bytes.Buffer
	if err := c.Backup(t.Context(), &slowly{&out, tick}); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took < server.WriteTimeout {
		t.Errorf("it took %v only", took)
	}
	if _, err := backup.Read(&out, t.TempDir()); err != nil {
		t.Error(err)
	}
	tick.Reset(2 * stallTimeout)
	if err := c.Backup(t.Context(), &slowly{io.Discard, tick}); err == nil || !strings.Contains(log.String(), "backup broken off") {
		t.Errorf("%v; log: %s", err, log)
	}
}
