package desk_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/backup"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// Reports continue while backups are taken, one after the other. Each backup is restored.
// Reports acknowledged before it began are listed, nothing is listed without an entry in its
// ledger, and once its desk has carried out the due decisions, all reports in the ledger are
// listed.
func TestBackupWhileReporting(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	const workers, each = 4, 5
	var s *desktest.Stage
	var begun atomic.Int64
	for round := range testenv.Rounds(40) {
		if round%20 == 0 { // the filters hold some 480 reports
			s = desktest.New(t, trust.Default(), 0)
			begun.Store(0)
		}
		acknowledged := make(chan int64, workers*each)
		var work sync.WaitGroup
		for range workers {
			work.Go(func() {
				for range each {
					n := begun.Add(1)
					if _, err := s.Report(desk.Report{Set: numberedSet(n), Reporter: fmt.Sprint("user", n%16)}); err != nil {
						t.Error(err)
					}
					acknowledged <- n
					if err := s.CarryOutDue(); err != nil { // like Run; it removes settled decisions
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
		testenv.Check(t, backup.Write(&out, s.DB, s.Ledger, backup.Options{}))
		work.Wait()
		checkRestored(t, s, &out, before, begun.Load())
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func numberedSet(n int64) signature.Set {
	return desktest.Set(fmt.Sprint("body", n), fmt.Sprint("text", n))
}

// checkRestored compares a backup with the reports: it contains the reports made before it
// began, and none with a number above most.
func checkRestored(t *testing.T, s *desktest.Stage, data io.Reader, before []int64, most int64) {
	t.Helper()
	o := desktest.Options(filepath.Join(t.TempDir(), "state"))
	o.Now = s.DB.Now
	if _, err := backup.Restore(data, o.Dir); err != nil {
		t.Fatal(err)
	}
	db, err := bloomdb.Open(o)
	testenv.Check(t, err)
	defer db.Close()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(o.Dir, "reports.db"), Model: trust.Default(), NoSync: true})
	testenv.Check(t, err)
	defer l.Close()
	restored := desk.New(db, l, desk.Options{})
	known := make([]bool, most+1)
	for n := range known {
		set := numberedSet(int64(n))
		if known[n], err = l.Reported(set, restored.Anchors(set.Sketches)); err != nil {
			t.Fatal(err)
		}
		isListed := db.Judge(set).Listed
		if isListed && !known[n] {
			t.Errorf("report %d of %d is listed, but not in the ledger", n, most)
		}
	}
	for _, n := range before {
		if !known[n] {
			t.Errorf("report %d was acknowledged before the backup, but is missing", n)
		}
	}
	testenv.Check(t, restored.CarryOutDue())
	for n := range known {
		if isListed := db.Judge(numberedSet(int64(n))).Listed; isListed != known[n] {
			t.Errorf("report %d: listed %v, in the ledger %v", n, isListed, known[n])
		}
	}
}
