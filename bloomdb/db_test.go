package bloomdb_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/status"
	"github.com/spambloom/spambloom/signature"
)

// crash abandons a database like kill -9: nothing is flushed or written.
func crash(t testing.TB, db *bloomdb.DB) {
	t.Helper()
	bloomdbtest.Crash(t, db, bloomdbtest.OptionsOf(db).Dir)
}

func TestReportRevokeJudge(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)

	step := func(what string, n int, listed bool, matches int) {
		t.Helper()
		e := db.Judge(bloomdbtest.Message(n))
		if e.Listed != listed || len(e.Matches) != matches {
			t.Errorf("%s: listed %v with %d matches, want %v with %d", what, e.Listed, len(e.Matches), listed, matches)
		}
	}
	step("unknown", 1, false, 0)
	bloomdbtest.Report(t, db, 1)
	step("reported", 1, true, 2)
	step("another", 2, false, 0)
	if e := db.Judge(bloomdbtest.Message(1)); e.Sites != 1 || e.Matches[0].Sites[0] != "mx1" || e.Matches[0].Revoked {
		t.Errorf("evidence %+v", e)
	}
	if err := db.Revoke(bloomdbtest.Message(1)); err != nil {
		t.Fatal(err)
	}
	step("revoked", 1, false, 2)
	bloomdbtest.Report(t, db, 1)
	step("reported again in the same period", 1, true, 2)
	if err := db.Revoke(bloomdbtest.Message(1)); err != nil {
		t.Fatal(err)
	}
	step("revoked again in the same period", 1, false, 2)
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, db, 1)
	step("reported in a later period", 1, true, 2)
	if err := db.Revoke(bloomdbtest.Message(1)); err != nil {
		t.Fatal(err)
	}
	step("revoked in the later period", 1, false, 2)
	c.Add(5 * 168 * time.Hour)
	step("expired", 1, false, 0)
	if len(reports(db)) == 0 {
		t.Error("expired at once: a clock that is wrong briefly would destroy reports")
	}
	for range layout.KeepExpired {
		db.Maintain()
	}
	if n := len(reports(db)); n != 0 {
		t.Errorf("%d generations are held", n)
	}
}

// A clock that is ten years ahead for a while, also during a restart, loses no data.
func TestClockAheadForAWhile(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	const years = 10 * 365 * 24 * time.Hour
	c.Add(years)
	if err := db.Maintain(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = bloomdbtest.Open(t, o)
	if err := db.Maintain(); err != nil {
		t.Fatal(err)
	}
	if db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("listed after ten years")
	}
	c.Add(-years)
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("lost")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db = bloomdbtest.Open(t, o); !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("lost after the restart")
	}
}

func TestTooLittleToSign(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	if err := db.Report(signature.Set{}, layout.ClassOther); !errors.Is(err, keyspace.ErrNothing) {
		t.Errorf("report: %v, want ErrNothing", err)
	}
	if err := db.Revoke(signature.Set{}); !errors.Is(err, keyspace.ErrNothing) {
		t.Errorf("revoke: %v, want ErrNothing", err)
	}
	if err := db.Count(signature.Set{}, 1); err != nil {
		t.Errorf("count: %v", err)
	}
	if e := db.Judge(signature.Set{}); e.Listed || e.Count != 0 || len(e.Matches) != 0 {
		t.Errorf("judge: %+v", e)
	}
}

func TestCountsLiveTwoPeriods(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	for range 7 {
		bloomdbtest.Count(t, db, 1, 3)
	}
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 21 || e.Sites != 1 {
		t.Errorf("count %d at %d sites, want 21 at 1", e.Count, e.Sites)
	}
	c.Add(24 * time.Hour)
	bloomdbtest.Count(t, db, 1, 1)
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 22 {
		t.Errorf("count %d in the second period, want 22", e.Count)
	}
	c.Add(24 * time.Hour)
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 1 {
		t.Errorf("count %d in the third period, want 1", e.Count)
	}
}

// No acknowledged change is lost, with or without a snapshot in between, in any number of
// crashes.
func TestCrashLosesNothing(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	n := 0
	for round := range 6 {
		db, err := bloomdbtest.TryOpen(o)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i := range n {
			if !db.Judge(bloomdbtest.Message(i)).Listed {
				t.Fatalf("round %d: message %d is lost", round, i)
			}
		}
		for range 20 {
			bloomdbtest.Report(t, db, n)
			bloomdbtest.Count(t, db, 1_000_000, 1)
			n++
			if round%2 == 1 && n%13 == 0 {
				if err := db.Save(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := db.Maintain(); err != nil { // like Run, each second
			t.Fatal(err)
		}
		crash(t, db)
	}
	db := bloomdbtest.Open(t, o)
	if got := db.Judge(bloomdbtest.Message(1_000_000)).Count; got != uint64(n) {
		t.Errorf("count %d after crashes, want %d", got, n)
	}
}

func TestCloseAndOpen(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	for i := range 100 {
		bloomdbtest.Report(t, db, i)
		bloomdbtest.Count(t, db, i, uint32(i))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Report(bloomdbtest.Message(1), layout.ClassOther); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("report after close: %v", err)
	}
	db = bloomdbtest.Open(t, o)
	for i := range 100 {
		if e := db.Judge(bloomdbtest.Message(i)); !e.Listed || e.Count < uint64(i) || e.Count > uint64(i)+2 {
			t.Errorf("message %d: %+v", i, e)
		}
	}
}

func TestLocked(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	bloomdbtest.Open(t, o)
	if _, err := bloomdbtest.TryOpen(o); !errors.Is(err, bloomdb.ErrLocked) || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("second open: %v, want ErrLocked with the folder's name", err)
	}
}

func TestOpenRefusesAnotherIdentity(t *testing.T) {
	dir := t.TempDir()
	db := bloomdbtest.Open(t, bloomdbtest.Options(dir, "mx1"))
	bloomdbtest.Report(t, db, 1)
	db.Close()
	for name, change := range map[string]func(o *bloomdb.Options){
		"mx2":              func(o *bloomdb.Options) { o.Site = "mx2" },
		"federation key":   func(o *bloomdb.Options) { o.Key[0]++ },
		"report period":    func(o *bloomdb.Options) { o.Reports.Period = time.Hour },
		"count period":     func(o *bloomdb.Options) { o.Counts.Period = time.Hour },
		"must be 1 to 64":  func(o *bloomdb.Options) { o.Reports.Keep = 65 },
		"site name":        func(o *bloomdb.Options) { o.Site = "../x" },
		"error per mail":   func(o *bloomdb.Options) { o.Reports.MaxErrorPerMail = 2 },
		"must be at least": func(o *bloomdb.Options) { o.Counts.Capacity = -1 },
	} {
		o := bloomdbtest.Options(dir, "mx1")
		change(&o)
		if db, err := bloomdbtest.TryOpen(o); err == nil {
			db.Close()
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %q does not contain it", name, err)
		}
	}
	bloomdbtest.Open(t, bloomdbtest.Options(dir, "mx1")) // still good
}

// After a change of the filters' configured size, the existing filters can still be read.
func TestCapacityChanged(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Count(t, db, 1, 5)
	db.Close()
	o.Reports.Capacity, o.Counts.Capacity = 50_000, 100
	db = bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Count(t, db, 1, 5)
	if !db.Judge(bloomdbtest.Message(1)).Listed || !db.Judge(bloomdbtest.Message(2)).Listed || db.Judge(bloomdbtest.Message(1)).Count != 10 {
		t.Error("lost after the capacity changed")
	}
}

// The same if there are only parts of another site in that generation, and no own filter.
func TestCapacityChangedWithPeer(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, b)...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o.Reports.Capacity = 50_000
	db = bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 2)
	if !db.Judge(bloomdbtest.Message(1)).Listed || !db.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("lost after the capacity changed")
	}
}

func TestFull(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports.Capacity = 50
	db := bloomdbtest.Open(t, o)
	var err error
	n := 0
	for ; n < 1000 && err == nil; n++ {
		err = db.Report(bloomdbtest.Message(n), layout.ClassOther)
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Fatalf("after %d reports: %v, want ErrFull", n, err)
	}
	if n < 20 { // 50 messages of 4 keys in 5 generations: 50 keys each
		t.Errorf("full after %d reports of two keys", n)
	}
	if s := db.Status(); s.ErrorPerMail > 2*1e-6 {
		t.Errorf("error per mail %g when full, target 1e-6", s.ErrorPerMail)
	} else if !slices.ContainsFunc(s.Filters, func(f status.Filter) bool { return f.Kind == "spam" && f.Full }) {
		t.Errorf("no filter is full: %+v", s.Filters)
	}
}

func TestParallel(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports.Capacity = 20000
	db := bloomdbtest.Open(t, o)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := db.Report(bloomdbtest.Message(w*1000+i), layout.ClassOther); err != nil {
					t.Error(err)
				}
				for range 4 {
					if err := db.Count(bloomdbtest.Message(7), 1); err != nil {
						t.Error(err)
					}
				}
				db.Judge(bloomdbtest.Message(i))
				db.Explain(bloomdbtest.Message(i))
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			if err := db.Save(); err != nil {
				t.Error(err)
			}
			db.Status()
		}
	})
	wg.Wait()
	if got := db.Judge(bloomdbtest.Message(7)).Count; got != 800 {
		t.Errorf("count %d, want 800", got)
	}
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	for w := range 4 {
		for i := range 50 {
			if !db.Judge(bloomdbtest.Message(w*1000 + i)).Listed {
				t.Fatalf("message %d is lost", w*1000+i)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Count(t, db, 1, 3)
	db.Revoke(bloomdbtest.Message(1))
	traces := db.Explain(bloomdbtest.Message(1))
	if len(traces) != 2 {
		t.Fatalf("%d traces", len(traces))
	}
	body, text := traces[0], traces[1]
	start := time.Date(2026, 2, 26, 0, 0, 0, 0, time.UTC)
	if len(body.Spam) != 1 || len(body.Revoked) != 1 || body.Spam[0].Site != "mx1" || !body.Spam[0].Start.Equal(start) {
		t.Errorf("body: %+v", body)
	}
	if len(body.Counts) != 0 || len(text.Counts) != 1 || text.Counts[0].Count != 3 {
		t.Errorf("counts: %+v and %+v", body.Counts, text.Counts)
	}
}
