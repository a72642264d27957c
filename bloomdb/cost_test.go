package bloomdb_test

import (
	"errors"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// The costs of all messages that fit into a generation add up to 1. A reporter with a share of
// the costs cannot fill it.
func TestCostAddsUp(t *testing.T) {
	for name, revoke := range map[string]bool{"reports": false, "revocations": true} {
		t.Run(name, func(t *testing.T) {
			db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
			enter := func(set signature.Set) error {
				if revoke {
					return db.Revoke(set)
				}
				return db.Report(set, layout.ClassOther)
			}
			sum := 0.0
			for n := 0; ; n++ {
				set := bloomdbtest.Message(n)
				cost := db.Cost(set, revoke)
				err := enter(set)
				if errors.Is(err, layout.ErrFull) {
					break
				}
				testenv.Check(t, err)
				if sum += cost; db.Cost(set, revoke) != 0 {
					t.Fatalf("repeating message %d costs %g", n, db.Cost(set, revoke))
				}
			}
			if sum < 0.95 || sum > 1.05 {
				t.Errorf("a full generation has cost %.3f, want 1", sum)
			}
		})
	}
}

// A sketch costs more than a message's few signatures, until it is stored.
func TestCostOfSketches(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	plain, sketched := bloomdbtest.Message(1), wordy(1, words(0, 60)...)
	if db.Cost(sketched, false) <= db.Cost(plain, false) {
		t.Errorf("with a sketch %g, without %g", db.Cost(sketched, false), db.Cost(plain, false))
	}
	mustReportSet(t, db, sketched)
	if cost := db.Cost(sketched, false); cost != 0 {
		t.Errorf("repeated: %g", cost)
	}
}

// A message stands only if it is listed, by this site or by others.
func TestStands(t *testing.T) {
	set := wordy(1, words(0, 60)...)
	for name, test := range map[string]struct {
		do   func(t *testing.T, db *bloomdb.DB)
		want bool
	}{
		"nothing":  {func(*testing.T, *bloomdb.DB) {}, false},
		"reported": {func(t *testing.T, db *bloomdb.DB) { mustReportSet(t, db, set) }, true},
		"a near-duplicate is reported": {func(t *testing.T, db *bloomdb.DB) {
			mustReportSet(t, db, wordy(2, append(words(0, 55), words(1000, 5)...)...))
		}, true},
		"reported and revoked": {func(t *testing.T, db *bloomdb.DB) {
			mustReportSet(t, db, set)
			testenv.Check(t, db.Revoke(set))
		}, false},
		"reported and retouched here": {func(t *testing.T, db *bloomdb.DB) {
			mustReportSet(t, db, set)
			if _, err := db.Retouch(set); err != nil {
				t.Fatal(err)
			}
		}, true},
		"reported and never to be spam here": {func(t *testing.T, db *bloomdb.DB) {
			mustReportSet(t, db, set)
			if _, err := db.Never(set, ""); err != nil {
				t.Fatal(err)
			}
		}, true},
		"reported by another site": {func(t *testing.T, db *bloomdb.DB) {
			other := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
			mustReportSet(t, other, set)
			bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
			test.do(t, db)
			if got := db.Stands(set); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
