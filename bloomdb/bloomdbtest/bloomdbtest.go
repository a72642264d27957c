// Package bloomdbtest is for tests of databases. It opens them in temporary folders, fills them,
// transfers deltas and snapshots from one to another, crashes them, and sets their clock. It
// uses only exported names of package bloomdb. A function without an error result fails the
// test instead.
package bloomdbtest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/signature"
)

// Clock is a clock that the test sets.
type Clock = keyspacetest.Clock

// NewClock returns a clock that is stopped at 5:06:07 UTC on 4 March 2026.
func NewClock() *Clock { return keyspacetest.NewClock() }

// Key is the federation key of Options.
var Key = keyspacetest.Key

// Ring hashes under Key: every member of the federation can.
var Ring = keyring.NewRing(Key)

// Options configure a small database that exchanges records, with a stopped clock.
func Options(dir, site string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: site, Key: Key, Exchange: true,
		Reports: layout.ReportOptions{Capacity: 2000},
		Counts:  layout.CountOptions{Capacity: 2000},
		Now:     NewClock().Now,
	}
}

// Open opens a database. When the test ends, it is checked and closed, unless it was closed or
// crashed before.
func Open(t testing.TB, o bloomdb.Options) *bloomdb.DB {
	t.Helper()
	db := MustOpen(t, o)
	t.Cleanup(func() {
		if isOver(db) {
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

// MustOpen opens a database. The test closes it.
func MustOpen(t testing.TB, o bloomdb.Options) *bloomdb.DB {
	t.Helper()
	db, err := TryOpen(o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TryOpen opens a database like bloomdb.Open.
func TryOpen(o bloomdb.Options) (*bloomdb.DB, error) {
	db, err := bloomdb.Open(o)
	remember(db, o)
	return db, err
}

// Repair opens and repairs a database like bloomdb.Repair.
func Repair(o bloomdb.Options) (*bloomdb.DB, []repair.Repaired, error) {
	db, done, err := bloomdb.Repair(o)
	remember(db, o)
	return db, done, err
}

// opened contains the options of open databases, by weak.Pointer[bloomdb.DB].
var opened sync.Map

func remember(db *bloomdb.DB, o bloomdb.Options) {
	for ; db != nil; db = db.Previous() {
		opened.Store(weak.Make(db), o)
	}
}

// OptionsOf returns the options with which a test opened a database.
func OptionsOf(db *bloomdb.DB) bloomdb.Options {
	o, ok := opened.Load(weak.Make(db))
	if !ok {
		panic("the database was not opened by this package")
	}
	return o.(bloomdb.Options)
}

// Settings returns the settings of a database that is opened with o: the sizes and periods of its
// filters with their defaults, and the clock of o.
func Settings(o bloomdb.Options) *layout.Settings {
	layout.SetDefaults(&o.Reports, &o.Counts, &o.Domains)
	s := &layout.Settings{Dir: o.Dir, Site: o.Site, Reports: o.Reports, Counts: o.Counts, Domains: o.Domains, Exchange: o.Exchange, Now: o.Now}
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// SettingsOf returns the settings of a database.
func SettingsOf(db *bloomdb.DB) *layout.Settings { return Settings(OptionsOf(db)) }

// crashed contains the databases that crashed, by weak.Pointer[bloomdb.DB]: it must not keep
// their memory.
var crashed sync.Map

// isOver reports whether the database was closed or crashed.
func isOver(db *bloomdb.DB) bool {
	_, hasCrashed := crashed.Load(weak.Make(db))
	return hasCrashed || errors.Is(db.Revocable(signature.Set{}), bloomdb.ErrClosed)
}

// Crash abandons a database like kill -9: nothing is flushed or written, and its folder can be
// opened again. Afterwards the test may only read from the database.
func Crash(t testing.TB, db *bloomdb.DB, dir string) {
	t.Helper()
	crashed.Store(weak.Make(db), true)
	// The lock belongs to the file and not to its name: the next Open creates another file.
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
}

// Message returns the signatures of message number n: of its body and its text. The signature
// of the text is counted.
func Message(n int) signature.Set { return keyspacetest.Message(n) }

// Report reports message number n without a class.
func Report(t testing.TB, db *bloomdb.DB, n int) {
	t.Helper()
	if err := db.Report(Message(n), bloomdb.ClassOther); err != nil {
		t.Fatalf("report %d: %v", n, err)
	}
}

// Revoke revokes message number n.
func Revoke(t testing.TB, db *bloomdb.DB, n int) {
	t.Helper()
	if err := db.Revoke(Message(n)); err != nil {
		t.Fatalf("revoke %d: %v", n, err)
	}
}

// Count adds sightings of message number n.
func Count(t testing.TB, db *bloomdb.DB, n int, times uint32) {
	t.Helper()
	if err := db.Count(Message(n), times); err != nil {
		t.Fatalf("count %d: %v", n, err)
	}
}

// CPUTime returns the CPU time of this process so far, for benchmarks beside other work on the
// machine.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
