package reporting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
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

// reported enters so many reports.
func (s *stage) reported(n int) *stage {
	s.t.Helper()
	for i := range n {
		s.report(fmt.Sprint("user", i%8), testSet(fmt.Sprint("body", i), fmt.Sprint("text", i)))
	}
	return s
}

func TestBackup(t *testing.T) {
	s := newStage(t, trust.Default(), 0).reported(20)
	c, log := s.served(t, HandlerOptions{Folder: "/state", Keys: []string{"/etc/key"}}, nil)
	var out bytes.Buffer
	if err := c.Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	sum, err := backup.Read(&out, t.TempDir())
	if err != nil || sum.Site != "mx1" || sum.Program != "1.2.3" || sum.Reports != 20 || sum.Reporters != 8 || !sum.Made.Equal(s.db.Now()) || len(sum.Without) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if !strings.Contains(log.String(), "backup written") {
		t.Error(log)
	}
}

// Only an administrator gets the state, and with it the keys.
func TestBackupNeedsAdministrator(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	for what, o := range map[string]Origin{"a member": process(4711, 100), "a delegate": process(200, 100), "a mail store": {Client: "store1"}, "nobody": {}} {
		access := NewAccess(AccessOptions{DaemonUID: 100, Group: "spambloom", GID: 100, Delegates: []string{"vmail"}})
		access.names.lookup = lookupPeople
		c, _ := s.served(t, HandlerOptions{Access: access}, func(server *http.Server) {
			inner := server.Handler
			server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), originKey{}, o)))
			})
		})
		var out bytes.Buffer
		var p *Problem
		if err := c.Backup(t.Context(), &out); !errors.As(err, &p) || p.Status != http.StatusForbidden || out.Len() > 0 {
			t.Errorf("%s: %d bytes, %v", what, out.Len(), err)
		}
	}
}

func TestOneBackupAtATime(t *testing.T) {
	s := newStage(t, trust.Default(), 0)
	h := &handler{desk: s.Desk, HandlerOptions: HandlerOptions{Log: slog.New(slog.DiscardHandler)}}
	h.backing.Lock() // there is one at work
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		w := httptest.NewRecorder()
		h.backup(w, httptest.NewRequest(http.MethodGet, "/v1/backup", nil))
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
	s := newStage(t, trust.Default(), 0).reported(300)
	dir := t.TempDir()
	c, log := s.served(t, HandlerOptions{Folder: dir, Keys: []string{dir + "/site.key"}}, nil)
	var out bytes.Buffer
	err := c.Backup(t.Context(), &out)
	if err == nil || !strings.Contains(log.String(), "site.key: no such file") {
		t.Errorf("%v; log: %s", err, log)
	}
	if _, err := backup.Read(&out, t.TempDir()); !errors.Is(err, backup.ErrBackup) {
		t.Errorf("%d bytes: %v", out.Len(), err)
	}
	c, _ = s.served(t, HandlerOptions{}, nil)
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
	s := newStage(t, trust.Default(), 0).reported(300)
	ln := newPipes()
	server, log := s.server(HandlerOptions{}, nil)
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

// Reports go on while backups are taken, one after the other. Each is restored: what was
// acknowledged before it began is listed, nothing is listed that its ledger does not know,
// and when its desk has carried out what is due, all that the ledger knows is listed.
func TestBackupWhileReporting(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	s := newStage(t, trust.Default(), 0)
	const workers, each = 4, 5
	var begun atomic.Int64
	for round := range testenv.Rounds(40) {
		acknowledged := make(chan int64, workers*each)
		var work sync.WaitGroup
		for range workers {
			work.Go(func() {
				for range each {
					n := begun.Add(1)
					if _, err := s.Report(Report{Set: numberedSet(n), Reporter: fmt.Sprint("user", n%16)}); err != nil {
						t.Error(err)
					}
					acknowledged <- n
					if err := s.carryOutDue(); err != nil { // as Run does; it forgets what is settled
						t.Error(err)
					}
				}
			})
		}
		var before []int64
		for range random.IntN(workers * each) {
			before = append(before, <-acknowledged)
		}
		var out bytes.Buffer
		if err := backup.Write(&out, s.db, s.ledger, backup.Options{}); err != nil {
			t.Fatal(err)
		}
		work.Wait()
		checkRestored(t, s, &out, before, begun.Load())
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func numberedSet(n int64) signature.Set { return testSet(fmt.Sprint("body", n), fmt.Sprint("text", n)) }

// checkRestored holds a backup against what was reported: some messages before it began,
// and none of a number above most.
func checkRestored(t *testing.T, s *stage, data io.Reader, before []int64, most int64) {
	t.Helper()
	o := smallOptions(filepath.Join(t.TempDir(), "state"))
	o.Now = s.db.Now
	if _, err := backup.Restore(data, o.Dir); err != nil {
		t.Fatal(err)
	}
	db, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(o.Dir, "reports.db"), Model: trust.Default(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	desk := NewDesk(db, l, DeskOptions{})
	known := make([]bool, most+1)
	for n := range known {
		set := numberedSet(int64(n))
		if known[n], err = l.Reported(set, desk.anchors(set.Sketches)); err != nil {
			t.Fatal(err)
		}
		isListed := db.Judge(set).Listed
		if isListed && !known[n] {
			t.Errorf("report %d of %d is listed, and the ledger does not know it", n, most)
		}
	}
	for _, n := range before {
		if !known[n] {
			t.Errorf("report %d was acknowledged before, and is not known", n)
		}
	}
	if err := desk.carryOutDue(); err != nil {
		t.Fatal(err)
	}
	for n := range known {
		if isListed := db.Judge(numberedSet(int64(n))).Listed; isListed != known[n] {
			t.Errorf("report %d: listed %v, in the ledger %v", n, isListed, known[n])
		}
	}
}
