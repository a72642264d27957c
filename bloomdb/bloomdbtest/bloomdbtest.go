// Package bloomdbtest is for tests of databases: it opens them in temporary folders, fills
// them, carries deltas and snapshots from one to another, crashes them, and moves their
// clock. It uses what package bloomdb exports and nothing else. A function that has no
// result for an error ends the test with it.
package bloomdbtest

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Clock is a time that the test sets. Its methods are safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at 5:06:07 UTC on 4 March 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add sets the clock ahead, or back if d is negative.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Key is the federation key of Options.
var Key = [32]byte{1, 2, 3}

// Options are those of a small database that exchanges, with a clock that stands.
func Options(dir, site string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: site, Key: Key, Exchange: true,
		Reports: layout.ReportOptions{Capacity: 2000},
		Counts:  layout.CountOptions{Capacity: 2000},
		Now:     NewClock().Now,
	}
}

// Open opens a database that is checked and closed when the test ends, unless it was closed
// or has crashed.
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

// MustOpen opens a database that the test closes.
func MustOpen(t testing.TB, o bloomdb.Options) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// crashed are the databases that Crash has left. It does not keep them in memory.
var crashed sync.Map // of weak.Pointer[bloomdb.DB]

// isOver reports whether the database was closed or has crashed.
func isOver(db *bloomdb.DB) bool {
	_, hasCrashed := crashed.Load(weak.Make(db))
	return hasCrashed || errors.Is(db.HearVotes(nil), bloomdb.ErrClosed)
}

// Crash leaves a database as kill -9 does: nothing is flushed or written, and its folder can
// be opened again. The test must not use the database afterwards, except to read.
func Crash(t testing.TB, db *bloomdb.DB, dir string) {
	t.Helper()
	crashed.Store(weak.Make(db), true)
	// The lock is of the file, not of its name: the next Open makes another one.
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
}

// Message returns the signatures of message number n, of its body and its text. The text's
// is counted.
func Message(n int) signature.Set {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	body := signature.Signature{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, b[:])}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, b[:])}
	return signature.Set{Signatures: []signature.Signature{body, text}, Counting: []signature.Signature{text}}
}

// Report reports message number n, of no named class.
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

// Count counts a number of sightings of message number n.
func Count(t testing.TB, db *bloomdb.DB, n int, times uint32) {
	t.Helper()
	if err := db.Count(Message(n), times); err != nil {
		t.Fatalf("count %d: %v", n, err)
	}
}
