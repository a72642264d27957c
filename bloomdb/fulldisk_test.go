package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// fillDisk fills the disk except for the last page of a file.
func fillDisk(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return ballast
}

// diskWorld is a database on a small disk, and its results so far.
type diskWorld struct {
	*testing.T
	db *bloomdb.DB

	mu        sync.Mutex // guards all below
	next      int
	taken     []int // reported, acknowledged
	refused   []int // reported, with an error
	lastError error
}

// report reports a new message.
func (w *diskWorld) report() error {
	w.mu.Lock()
	w.next++
	n := w.next
	w.mu.Unlock()
	err := w.db.Report(bloomdbtest.Message(n), layout.Class(n%3))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.taken = append(w.taken, n)
	} else {
		w.refused = append(w.refused, n)
		w.lastError = err
	}
	return err
}

// reportUntilFull reports from several goroutines until each was rejected.
func (w *diskWorld) reportUntilFull() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				if err := w.report(); errors.Is(err, syscall.ENOSPC) {
					return
				} else if err != nil {
					w.Errorf("on a full disk: %v", err)
					return
				}
			}
			w.Error("a full disk accepted a thousand reports")
		})
	}
	all.Wait()
}

// check checks that acknowledged reports are listed, and rejected ones are not.
func (w *diskWorld) check(when string) {
	w.Helper()
	for _, n := range w.taken {
		if !w.db.Judge(bloomdbtest.Message(n)).Listed {
			w.Errorf("%s: report %d was acknowledged but is not listed", when, n)
		}
	}
	for _, n := range w.refused {
		if w.db.Judge(bloomdbtest.Message(n)).Listed {
			w.Errorf("%s: report %d was rejected but is listed", when, n)
		}
	}
}

// refuseAll checks that a full disk rejects all other changes as well, and that they leave no
// trace.
func (w *diskWorld) refuseAll() {
	w.Helper()
	_, retouched := w.db.Retouch(bloomdbtest.Message(1))
	_, declared := w.db.Never(bloomdbtest.Message(1), "")
	_, reportable := w.db.Reportable(bloomdbtest.Message(1))
	for what, err := range map[string]error{
		"revocation": w.db.Revoke(bloomdbtest.Message(1)), "retouch": retouched, "never": declared,
		"snapshot": w.db.Save(), "reportable": reportable, "revocable": w.db.Revocable(bloomdbtest.Message(1)),
	} {
		if !errors.Is(err, syscall.ENOSPC) {
			w.Errorf("%s on a full disk: %v", what, err)
		}
	}
	if w.db.Fault() == nil {
		w.Error("a full disk is not reported as a fault")
	}
	if len(w.db.NeverList()) > 0 || len(w.db.Retouched()) > 0 {
		w.Error("a rejected change had an effect")
	}
}

// The disk becomes full under a database in use, repeatedly. Rejected reports are not listed,
// and mail is judged. Once there is room, everything continues without a restart. Acknowledged
// reports survive a crash, and reach other sites.
func TestFullDisk(t *testing.T) {
	dir := testenv.SmallDisk(t, "2m")
	c := bloomdbtest.NewClock()
	o := small(filepath.Join(dir, "state"))
	o.Reports.Capacity, o.Now = 2000, c.Now
	other := o
	other.Site, other.Dir = "mx2", t.TempDir()
	mx2 := bloomdbtest.Open(t, other)
	w := &diskWorld{T: t, db: bloomdbtest.Open(t, o)}
	for round := range 6 {
		for range 5 {
			if err := w.report(); err != nil {
				t.Fatalf("round %d: with room: %v", round, err)
			}
		}
		if round%2 == 1 { // journal and snapshots then differ
			c.Add(10 * time.Minute)
			if err := w.db.Maintain(); err != nil {
				t.Fatal(err)
			}
		}
		ballast := fillDisk(t, dir)
		w.reportUntilFull()
		w.check("on a full disk")
		w.refuseAll()
		w.check("after all was refused")
		c.Add(10 * time.Minute)
		if err := w.db.Maintain(); err == nil {
			t.Error("the periodic work returned no error on a full disk")
		}
		mustRemove(t, ballast)
		if round%3 == 2 { // either the daemon's loop or the next report finds the room
			c.Add(time.Minute)
			if err := w.db.Maintain(); err != nil || w.db.Fault() != nil {
				t.Errorf("with room again: %v, fault %v", err, w.db.Fault())
			}
		}
	}
	t.Logf("%d reports accepted, %d rejected, the last one: %v", len(w.taken), len(w.refused), w.lastError)
	w.revokeLast()
	deltas := bloomdbtest.Drain(t, w.db)
	crash(t, w.db)
	w.db, w.refused = bloomdbtest.Open(t, o), nil
	w.check("after a crash")
	for _, d := range deltas {
		if err := mx2.Apply(d.Data, peers.Lost); err != nil {
			t.Error(err)
		}
	}
	w.db = mx2
	w.check("at another site")
}

// revokeLast revokes the last report. Revocations are accepted again, too.
func (w *diskWorld) revokeLast() {
	w.Helper()
	last := len(w.taken) - 1
	if err := w.db.Revoke(bloomdbtest.Message(w.taken[last])); err != nil {
		w.Fatal(err)
	}
	listed(w.T, w.db, w.taken[last], false)
	w.taken = w.taken[:last]
}
