package bloomdb

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

// The tests inside cannot import bloomdbtest, which imports this package. These few functions
// are what they need of it.

func testOptions(dir, site string) Options {
	return Options{
		Dir: dir, Site: site, Key: [32]byte{1, 2, 3}, Exchange: true,
		Reports: layout.ReportOptions{Capacity: 2000},
		Counts:  layout.CountOptions{Capacity: 2000},
		Now:     func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
	}
}

func openTest(t *testing.T, o Options) *DB {
	t.Helper()
	db, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Check(); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func message(n int) signature.Set {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	body := signature.Signature{Kind: signature.KindBody, Digest: signature.Sum(signature.KindBody, b[:])}
	text := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, b[:])}
	return signature.Set{Signatures: []signature.Signature{body, text}, Counting: []signature.Signature{text}}
}

func mustReport(t *testing.T, db *DB, n int) {
	t.Helper()
	if err := db.Report(message(n), layout.ClassOther); err != nil {
		t.Fatalf("report %d: %v", n, err)
	}
}

func drain(t *testing.T, db *DB) (all []wire.Delta) {
	t.Helper()
	if err := db.Resume(db.Head()); err != nil {
		t.Fatal(err)
	}
	for {
		d, ok, err := db.NextDelta(true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		if err := db.Published(d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
}

func mustApply(t *testing.T, db *DB, deltas ...wire.Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := db.Apply(d.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
	}
}
