package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// wallClock is a time that the test sets.
type wallClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *wallClock { return &wallClock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *wallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *wallClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var testKey = [32]byte{1, 2, 3}

func testOptions(dir, site string) Options {
	return Options{
		Dir: dir, Site: site, Key: testKey, Exchange: true,
		Reports: layout.ReportOptions{Capacity: 2000},
		Counts:  layout.CountOptions{Capacity: 2000},
		Now:     newClock().Now,
	}
}

// openTest opens a database that is checked when the test ends.
func openTest(t testing.TB, o Options) *DB {
	t.Helper()
	o.newFile = newTestFile
	db, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if db.ks.Closed.Load() {
			return
		}
		if err := db.Check(); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// crash lets go of the folder as kill -9 does: nothing is flushed or written.
func crash(t testing.TB, db *DB) {
	t.Helper()
	db.ks.Closed.Store(true)
	if err := db.lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// message is a set of signatures for message number n.
func message(n int) signature.Set {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	body := signature.Signature{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, b[:])}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, b[:])}
	return signature.Set{Signatures: []signature.Signature{body, text}, Counting: []signature.Signature{text}}
}

func mustReport(t testing.TB, db *DB, n int) {
	t.Helper()
	if err := db.Report(message(n), layout.ClassOther); err != nil {
		t.Fatalf("report %d: %v", n, err)
	}
}

func mustCount(t testing.TB, db *DB, n int, times uint32) {
	t.Helper()
	if err := db.Count(message(n), times); err != nil {
		t.Fatalf("count %d: %v", n, err)
	}
}

func TestReportRevokeJudge(t *testing.T) {
	c := newClock()
	o := testOptions(t.TempDir(), "mx1")
	o.Now = c.Now
	db := openTest(t, o)

	step := func(what string, n int, listed bool, matches int) {
		t.Helper()
		e := db.Judge(message(n))
		if e.Listed != listed || len(e.Matches) != matches {
			t.Errorf("%s: listed %v with %d matches, want %v with %d", what, e.Listed, len(e.Matches), listed, matches)
		}
	}
	step("unknown", 1, false, 0)
	mustReport(t, db, 1)
	step("reported", 1, true, 2)
	step("another", 2, false, 0)
	if e := db.Judge(message(1)); e.Sites != 1 || e.Matches[0].Sites[0] != "mx1" || e.Matches[0].Revoked {
		t.Errorf("evidence %+v", e)
	}
	if err := db.Revoke(message(1)); err != nil {
		t.Fatal(err)
	}
	step("revoked", 1, false, 2)
	mustReport(t, db, 1)
	step("reported again in the same period: revocation wins", 1, false, 2)
	c.add(168 * time.Hour)
	mustReport(t, db, 1)
	step("reported in a later period", 1, true, 2)
	if err := db.Revoke(message(1)); err != nil {
		t.Fatal(err)
	}
	step("revoked in the later period", 1, false, 2)
	c.add(5 * 168 * time.Hour)
	step("aged out", 1, false, 0)
	if len(db.ks.Store.View.Load().Reports) == 0 {
		t.Error("dropped at once: a clock that is wrong for a moment would destroy it")
	}
	for range store.KeepAged {
		db.ks.Expire()
	}
	if n := len(db.ks.Store.View.Load().Reports); n != 0 {
		t.Errorf("%d generations are held", n)
	}
}

// A clock that runs ten years ahead for a while, also over a restart, costs
// nothing.
func TestClockAheadForAMoment(t *testing.T) {
	c := newClock()
	o := testOptions(t.TempDir(), "mx1")
	o.Now = c.Now
	db := openTest(t, o)
	mustReport(t, db, 1)
	const years = 10 * 365 * 24 * time.Hour
	c.add(years)
	if err := db.maintain(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, o)
	if err := db.maintain(); err != nil {
		t.Fatal(err)
	}
	if db.Judge(message(1)).Listed {
		t.Error("listed after ten years")
	}
	c.add(-years)
	if !db.Judge(message(1)).Listed {
		t.Error("lost")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db = openTest(t, o); !db.Judge(message(1)).Listed {
		t.Error("lost after the restart")
	}
}

func TestTooLittleToSign(t *testing.T) {
	db := openTest(t, testOptions(t.TempDir(), "mx1"))
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
	c := newClock()
	o := testOptions(t.TempDir(), "mx1")
	o.Now = c.Now
	db := openTest(t, o)
	for range 7 {
		mustCount(t, db, 1, 3)
	}
	if e := db.Judge(message(1)); e.Count != 21 || e.Sites != 1 {
		t.Errorf("count %d at %d sites, want 21 at 1", e.Count, e.Sites)
	}
	c.add(24 * time.Hour)
	mustCount(t, db, 1, 1)
	if e := db.Judge(message(1)); e.Count != 22 {
		t.Errorf("count %d in the second period, want 22", e.Count)
	}
	c.add(24 * time.Hour)
	if e := db.Judge(message(1)); e.Count != 1 {
		t.Errorf("count %d in the third period, want 1", e.Count)
	}
}

// Nothing acknowledged is lost, whether or not a snapshot came between, and
// whatever number of crashes.
func TestCrashLosesNothing(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	n := 0
	for round := range 6 {
		db, err := Open(o)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i := range n {
			if !db.Judge(message(i)).Listed {
				t.Fatalf("round %d: message %d is lost", round, i)
			}
		}
		for range 20 {
			mustReport(t, db, n)
			mustCount(t, db, 1_000_000, 1)
			n++
			if round%2 == 1 && n%13 == 0 {
				if err := db.ks.Save(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := db.ks.Journal.Flush(); err != nil { // what Run does each second
			t.Fatal(err)
		}
		crash(t, db)
	}
	db := openTest(t, o)
	if got := db.Judge(message(1_000_000)).Count; got != uint64(n) {
		t.Errorf("count %d after crashes, want %d", got, n)
	}
}

func TestCloseAndOpen(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	db := openTest(t, o)
	for i := range 100 {
		mustReport(t, db, i)
		mustCount(t, db, i, uint32(i))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Report(message(1), layout.ClassOther); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("report after close: %v", err)
	}
	db = openTest(t, o)
	for i := range 100 {
		if e := db.Judge(message(i)); !e.Listed || e.Count < uint64(i) || e.Count > uint64(i)+2 {
			t.Errorf("message %d: %+v", i, e)
		}
	}
}

func TestLocked(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	openTest(t, o)
	if _, err := Open(o); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("second open: %v, want ErrLocked with the folder's name", err)
	}
}

func TestOpenRefusesAnotherIdentity(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, testOptions(dir, "mx1"))
	mustReport(t, db, 1)
	db.Close()
	for name, change := range map[string]func(o *Options){
		"mx2":              func(o *Options) { o.Site = "mx2" },
		"federation key":   func(o *Options) { o.Key[0]++ },
		"report period":    func(o *Options) { o.Reports.Period = time.Hour },
		"count period":     func(o *Options) { o.Counts.Period = time.Hour },
		"must be 1 to 64":  func(o *Options) { o.Reports.Keep = 65 },
		"site name":        func(o *Options) { o.Site = "../x" },
		"error per mail":   func(o *Options) { o.Reports.MaxErrorPerMail = 2 },
		"must be at least": func(o *Options) { o.Counts.Capacity = -1 },
	} {
		o := testOptions(dir, "mx1")
		change(&o)
		if db, err := Open(o); err == nil {
			db.Close()
			t.Errorf("%s: no error", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %q does not say it", name, err)
		}
	}
	openTest(t, testOptions(dir, "mx1")) // still good
}

// A setting that changes the filters' size leaves what is there readable.
func TestCapacityChanged(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	db := openTest(t, o)
	mustReport(t, db, 1)
	mustCount(t, db, 1, 5)
	db.Close()
	o.Reports.Capacity, o.Counts.Capacity = 50_000, 100
	db = openTest(t, o)
	mustReport(t, db, 2)
	mustCount(t, db, 1, 5)
	if !db.Judge(message(1)).Listed || !db.Judge(message(2)).Listed || db.Judge(message(1)).Count != 10 {
		t.Error("lost by another capacity")
	}
}

// The same where another site's state of that generation is held, and no own.
func TestCapacityChangedWithPeer(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	db, b := openTest(t, o), openTest(t, testOptions(t.TempDir(), "b"))
	mustReport(t, b, 1)
	mustApply(t, db, drain(t, b)...)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o.Reports.Capacity = 50_000
	db = openTest(t, o)
	mustReport(t, db, 2)
	if !db.Judge(message(1)).Listed || !db.Judge(message(2)).Listed {
		t.Error("lost by another capacity")
	}
}

func TestFull(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	o.Reports.Capacity = 50
	db := openTest(t, o)
	var err error
	n := 0
	for ; n < 1000 && err == nil; n++ {
		err = db.Report(message(n), layout.ClassOther)
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Fatalf("after %d reports: %v, want ErrFull", n, err)
	}
	if n < 40 { // 50 messages of 8 keys in 5 generations: 80 keys each
		t.Errorf("full after %d reports of two keys", n)
	}
	if s := db.Status(); s.ErrorPerMail > 2*1e-6 {
		t.Errorf("error per mail %g when full, target 1e-6", s.ErrorPerMail)
	}
}

func TestParallel(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	o.Reports.Capacity = 20000
	db := openTest(t, o)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := db.Report(message(w*1000+i), layout.ClassOther); err != nil {
					t.Error(err)
				}
				for range 4 {
					if err := db.Count(message(7), 1); err != nil {
						t.Error(err)
					}
				}
				db.Judge(message(i))
				db.Explain(message(i))
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			if err := db.ks.Save(); err != nil {
				t.Error(err)
			}
			db.Status()
		}
	})
	wg.Wait()
	if got := db.Judge(message(7)).Count; got != 800 {
		t.Errorf("count %d, want 800", got)
	}
	crash(t, db)
	db = openTest(t, o)
	for w := range 4 {
		for i := range 50 {
			if !db.Judge(message(w*1000 + i)).Listed {
				t.Fatalf("message %d is lost", w*1000+i)
			}
		}
	}
}

func TestExplain(t *testing.T) {
	db := openTest(t, testOptions(t.TempDir(), "mx1"))
	mustReport(t, db, 1)
	mustCount(t, db, 1, 3)
	db.Revoke(message(1))
	traces := db.Explain(message(1))
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

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "federation.key")
	key, err := keyring.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := keyring.WriteKey(path, key); err != nil {
		t.Fatal(err)
	}
	if err := keyring.WriteKey(path, key); !errors.Is(err, os.ErrExist) {
		t.Errorf("second write: %v", err)
	}
	got, err := keyring.ReadKey(path)
	if err != nil || got != key {
		t.Errorf("read: %v", err)
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for name, text := range map[string]string{"empty": "", "short": "abcd\n", "no hex": strings.Repeat("zz", 32)} {
		bad := filepath.Join(t.TempDir(), "key")
		os.WriteFile(bad, []byte(text), 0o600)
		if _, err := keyring.ReadKey(bad); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.Chmod(path, 0o644)
	if _, err := keyring.ReadKey(path); err == nil || !strings.Contains(err.Error(), "0644") {
		t.Errorf("readable by all: %v", err)
	}
	if id := keyring.ID(key); len(id) != 16 || strings.Contains(fmt.Sprintf("%x", key), id) {
		t.Errorf("key id %q", id)
	}
}
