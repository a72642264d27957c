package bloomdb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// relist gives a database what a ledger has: reports, and revocations.
func relist(t *testing.T, db *bloomdb.DB, at time.Time, reported, revoked []int) {
	t.Helper()
	for i, list := range [][]int{reported, revoked} {
		for _, n := range list {
			if kept, err := db.Relist(bloomdbtest.Message(n), layout.ClassOther, i == 1, at, nil); err != nil || !kept {
				t.Errorf("message %d: kept %v, %v", n, kept, err)
			}
		}
	}
}

// Reports made while a site did not have its new key reach the sites that have only that key, at
// the time of the reports, also if the site stops before it has listed them again.
func TestReportsUnderNewKey(t *testing.T) {
	c := bloomdbtest.NewClock()
	o, others := bloomdbtest.Options(t.TempDir(), "b"), bloomdbtest.Options(t.TempDir(), "c")
	o.Now, others.Now = c.Now, c.Now
	made := c.Now()
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Revoke(t, db, 2)
	if db.MustRelist() {
		t.Error("a site that never had another key lacks reports")
	}
	testenv.Check(t, db.Close())
	c.Add(7 * 24 * time.Hour)

	db = bloomdbtest.Open(t, rolledOver(o))
	relist(t, db, made, []int{1}, nil)
	crash(t, db) // before Relisted
	db = bloomdbtest.Open(t, rolledOver(o))
	if !db.MustRelist() {
		t.Fatal("after a crash, nothing is relisted")
	}
	relist(t, db, made, []int{1}, []int{2})
	testenv.Check(t, db.Relisted())
	if db.MustRelist() {
		t.Error("reports are relisted again")
	}
	crash(t, db)
	db = bloomdbtest.Open(t, rolledOver(o))
	testenv.Check(t, db.Resume(0, 0))
	if db.MustRelist() || !db.SnapshotDue() {
		t.Errorf("after the start: must relist %v, snapshot due %v", db.MustRelist(), db.SnapshotDue())
	}
	other := bloomdbtest.Open(t, onlyNew(others))
	listed(t, other, 1, false)
	bloomdbtest.PublishSnapshot(t, db).Take(t, other)
	listed(t, other, 1, true)
	if trace := other.Explain(bloomdbtest.Message(2))[0]; len(trace.Revoked) != 1 {
		t.Errorf("revocation: %+v", trace)
	}
	c.Add(4*7*24*time.Hour - time.Hour) // the report expires as if it had been made under the new key
	listed(t, other, 1, false)
}

// Sites that trust this one by vote count its recent reports.
func TestVotesUnderNewKey(t *testing.T) {
	o, others := bloomdbtest.Options(t.TempDir(), "b"), bloomdbtest.Options(t.TempDir(), "c")
	others.Votes, others.Members = 1, wire.Members{"b": {Trust: wire.TrustVote}}
	db := bloomdbtest.Open(t, rolledOver(o))
	relist(t, db, o.Now(), []int{1}, nil)
	testenv.Check(t, db.Relisted())
	other := bloomdbtest.Open(t, onlyNew(others))
	testenv.Check(t, other.ApplyVotes(mustVotes(t, db)))
	listed(t, other, 1, true)
}

// A key that was in use before lacks what was reported meanwhile.
func TestReturnToAKey(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	back := func(o bloomdb.Options) bloomdb.Options {
		before := newKey
		o.PreviousKey = &before
		return o
	}
	for i, step := range []struct {
		o    bloomdb.Options
		want bool
	}{{o, false}, {rolledOver(o), true}, {rolledOver(o), false}, {back(o), false}, {rolledOver(o), false}, {onlyNew(o), false}, {back(o), true}} {
		db := bloomdbtest.Open(t, step.o)
		if db.MustRelist() != step.want {
			t.Errorf("step %d: must relist %v", i, !step.want)
		}
		testenv.Check(t, db.Relisted())
		testenv.Check(t, db.Close())
	}
}

// A new capacity may be too small. Reports that have no room are refused one by one.
func TestTooManyReportsForNewKey(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Reports.Capacity = 100
	db := bloomdbtest.Open(t, rolledOver(o))
	refused := 0
	for n := range 2000 {
		_, err := db.Relist(bloomdbtest.Message(n), layout.ClassOther, false, o.Now(), nil)
		if errors.Is(err, bloomdb.ErrFull) {
			refused++
		} else {
			testenv.Check(t, err)
		}
	}
	if refused == 0 || refused == 2000 {
		t.Errorf("%d reports of 2000 were refused", refused)
	}
	testenv.Check(t, db.Relisted())
}
