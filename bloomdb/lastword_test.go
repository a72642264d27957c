package bloomdb_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// A repair adds the reports of the ledger to filters that have them already. What another site has
// revoked since, or listed again, stays as it is, and what this site's filters lack is added.
func TestRestoreKeepsLastWordOfOthers(t *testing.T) {
	others := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	o := bloomdbtest.Options(t.TempDir(), "b")
	db := bloomdbtest.Open(t, o)
	for _, n := range []int{1, 2, 3} {
		bloomdbtest.Report(t, db, n)
	}
	bloomdbtest.Revoke(t, db, 2)
	bloomdbtest.Apply(t, others, bloomdbtest.Drain(t, db)...)
	bloomdbtest.Revoke(t, others, 1)
	bloomdbtest.Report(t, others, 2)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, others)...)
	for n, revoked := range map[int]bool{1: false, 2: true, 3: false, 4: false} {
		_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, revoked, o.Now())
		must(t, err)
	}
	for n, want := range map[int]bool{1: false, 2: true, 3: true, 4: true} {
		listed(t, db, n, want)
	}
	// This site's own word is lost here: the repair says it again.
	bloomdbtest.Report(t, others, 5)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, others)...)
	_, err := db.Restore(bloomdbtest.Message(5), layout.ClassOther, true, o.Now())
	must(t, err)
	listed(t, db, 5, false)
}
