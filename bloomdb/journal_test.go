package bloomdb_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Reports that cannot be written to disk are rejected, acknowledged ones are kept, and reports
// are accepted again when there is room.
func TestJournalFault(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, breakable(o))
	bloomdbtest.Report(t, db, 1)
	mend := breakDisk(t, db)
	for _, n := range []int{2, 3} {
		if err := db.Report(bloomdbtest.Message(n), layout.ClassOther); err == nil {
			t.Fatal("the report was acknowledged with a failing disk")
		}
		if db.Judge(bloomdbtest.Message(n)).Listed {
			t.Error("a refused report is listed")
		}
	}
	if s := db.Status(); s.Error == "" || db.Fault() == nil {
		t.Error("status does not show the fault")
	}
	mend()
	bloomdbtest.Report(t, db, 4)
	if s := db.Status(); s.Error != "" {
		t.Errorf("status after repair: %s", s.Error)
	}
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: true} {
		if got := db.Judge(bloomdbtest.Message(n)).Listed; got != want {
			t.Errorf("message %d listed: %v, want %v", n, got, want)
		}
	}
}

// Without mail, the periodic work recovers from a fault. Counts that are in no journal are
// written in snapshots.
func TestFaultWithoutTraffic(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, breakable(o))
	mend := breakDisk(t, db)
	bloomdbtest.Count(t, db, 1, 30)
	if err := db.Maintain(); err == nil {
		t.Error("no error with a failing disk")
	}
	if err := db.Maintain(); err == nil {
		t.Error("no error at the second try")
	}
	mend()
	if err := db.Maintain(); err != nil {
		t.Errorf("after the disk was repaired: %v", err)
	}
	if db.Fault() != nil {
		t.Errorf("fault %v", db.Fault())
	}
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 30 {
		t.Errorf("count %d after the crash, want 30", e.Count)
	}
}

// After a power failure, unsynced pages may be missing before others that are present. That is
// not damage. A hole in synced data is.
func TestHoles(t *testing.T) {
	for _, synced := range []bool{false, true} {
		o := bloomdbtest.Options(t.TempDir(), "mx1")
		db := bloomdbtest.Open(t, o)
		bloomdbtest.Report(t, db, 1)
		j := db.Keyspace().Journal
		n := slices.Max(slices.Collect(maps.Keys(j.Durable())))
		hole := j.Durable()[n] // where the segment ends
		bloomdbtest.Count(t, db, 2, 1)
		bloomdbtest.Count(t, db, 3, 1)
		if synced {
			if err := j.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		bloomdbtest.Count(t, db, 4, 1)
		must(t, j.Flush())
		path := journal.SegmentPath(o.Dir, n)
		crash(t, db)
		data, _ := os.ReadFile(path)
		clear(data[hole : hole+20])
		os.WriteFile(path, data, 0o600)
		db, err := bloomdbtest.TryOpen(o)
		if (err != nil) != synced {
			t.Errorf("hole in synced data (%v): error %v", synced, err)
		}
		if err == nil {
			if !db.Judge(bloomdbtest.Message(1)).Listed {
				t.Error("an acknowledged report is lost")
			}
			db.Close()
		}
	}
}

// Failed snapshots are retried after a minute, not every second.
func TestFailingSnapshots(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	c.Add(10 * time.Minute)
	blocked := snapshot.OwnPath(o.Dir, layout.Target{Kind: layout.SpamFilter, Gen: bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, c.Now())})
	if err := os.MkdirAll(blocked+"/x", 0o700); err != nil { // a rename onto it fails
		t.Fatal(err)
	}
	for range 30 {
		c.Add(time.Second)
		db.Maintain()
	}
	if got := len(files(t, o.Dir, "journal-*")); got > 2 {
		t.Errorf("%d segments after half a minute of failing snapshots", got)
	}
	os.RemoveAll(blocked)
	c.Add(time.Minute)
	if err := db.Maintain(); err != nil {
		t.Fatal(err)
	}
	if got := len(files(t, o.Dir, "journal-*")); got != 1 && !o.Exchange {
		t.Errorf("%d segments after a snapshot", got)
	}
}

// A daemon that starts with a full disk judges mail, rejects reports, and accepts them again
// when there is room.
func TestStartOnFullDisk(t *testing.T) {
	dir := testenv.SmallDisk(t, "2m")
	o := bloomdbtest.Options(filepath.Join(dir, "state"), "mx1")
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	crash(t, db)
	ballast := fillDisk(t, dir)
	db = bloomdbtest.Open(t, o)
	if !db.Judge(bloomdbtest.Message(1)).Listed || db.Fault() == nil {
		t.Errorf("listed %v, fault %v", db.Judge(bloomdbtest.Message(1)).Listed, db.Fault())
	}
	if err := db.Report(bloomdbtest.Message(2), layout.ClassOther); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("report on a full disk: %v", err)
	}
	mustRemove(t, ballast)
	bloomdbtest.Report(t, db, 3)
	if db.Fault() != nil || db.Judge(bloomdbtest.Message(2)).Listed || !db.Judge(bloomdbtest.Message(3)).Listed {
		t.Errorf("with room again: fault %v", db.Fault())
	}
	crash(t, db)
	if db = bloomdbtest.Open(t, o); !db.Judge(bloomdbtest.Message(1)).Listed || !db.Judge(bloomdbtest.Message(3)).Listed {
		t.Error("lost")
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
