package bloomdb_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
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
		_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, revoked, o.Now(), nil)
		must(t, err)
	}
	for n, want := range map[int]bool{1: false, 2: true, 3: true, 4: true} {
		listed(t, db, n, want)
	}
	// This site's own word is lost here: the repair says it again.
	bloomdbtest.Report(t, others, 5)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, others)...)
	_, err := db.Restore(bloomdbtest.Message(5), layout.ClassOther, true, o.Now(), nil)
	must(t, err)
	listed(t, db, 5, false)
}

// The same for a message of which only near-duplicates were reported: it has no signature to restore, and
// its sketch has a last word of its own.
func TestRestoreKeepsLastWordOfOthersAboutSketches(t *testing.T) {
	others := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	o := bloomdbtest.Options(t.TempDir(), "b")
	db := bloomdbtest.Open(t, o)
	set := func(n int) signature.Set { return wordy(n, words(1000*n, 60)...) }
	sketches := func(n int) signature.Set { return signature.Set{Sketches: set(n).Sketches} }
	for _, n := range []int{1, 2, 3} {
		mustReportSet(t, db, sketches(n))
	}
	must(t, db.Revoke(sketches(2)))
	bloomdbtest.Apply(t, others, bloomdbtest.Drain(t, db)...)
	must(t, others.Revoke(set(1)))
	mustReportSet(t, others, sketches(2))
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, others)...)
	for n, revoked := range map[int]bool{1: false, 2: true, 3: false, 4: false} {
		_, err := db.Restore(sketches(n), layout.ClassOther, revoked, o.Now(), nil)
		must(t, err)
	}
	bloomdbtest.PublishSnapshot(t, db).Take(t, others)
	for n, want := range map[int]bool{1: false, 2: true, 3: true, 4: true} {
		near := wordy(100+n, words(1000*n, 60)...)
		if here, there := db.Judge(near).Listed, others.Judge(near).Listed; here != want || there != want {
			t.Errorf("message %d: listed here %v, there %v, want %v", n, here, there, want)
		}
	}
}

// A report leaves out a footer that is common at its site. A repair leaves it out, too: otherwise a site
// where the footer is not common would list innocent mail with it.
func TestRestoreListsNothingCommon(t *testing.T) {
	a, o := openMailSite(t, nil), bloomdbtest.Options(t.TempDir(), "b")
	o.Now = a.clock.Now
	b, footer := bloomdbtest.Open(t, o), words(500, 60)
	a.receiveForWeeks(func(n int) signature.Set { return wordy(n, append(words(1000*(n+2), 30), footer...)...) })
	phish := wordy(100, append(words(100_000, 10), footer...)...)
	mustReportSet(t, a.DB, phish)
	innocent := wordy(200, append(words(200_000, 30), footer...)...)
	for range 2 {
		bloomdbtest.PublishSnapshot(t, a.DB).Take(t, b)
		if e := b.Judge(innocent); e.Listed || !b.Judge(wordy(100)).Listed {
			t.Errorf("innocent mail with the footer is listed: %+v", e.Matches)
		}
		_, err := a.Restore(phish, layout.ClassOther, false, a.Now(), nil)
		must(t, err)
	}
}

// A message was retouched, and reported again after that. If the damage took the record of this report, a
// repair lists the message again. A retouch that was made after the report stays.
func TestRestoreAfterRetouch(t *testing.T) {
	c, o := bloomdbtest.NewClock(), bloomdbtest.Options(t.TempDir(), "b")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	before := c.Now()
	for _, n := range []int{1, 2} {
		bloomdbtest.Report(t, db, n)
	}
	c.Add(time.Minute)
	for _, n := range []int{1, 2} {
		mustRetouch(t, db, n)
	}
	c.Add(time.Minute)
	for n, at := range map[int]time.Time{1: c.Now(), 2: before} {
		_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, false, at, nil)
		must(t, err)
	}
	must(t, db.Close())
	db = bloomdbtest.Open(t, o)
	listed(t, db, 1, true)
	listed(t, db, 2, false)
}

// A report and a revocation from a time when the clock was weeks ahead. Damage took the filters after the
// clock was corrected: a repair has both in the current period, so that they expire as those of today do.
func TestRestoreOfAClockAhead(t *testing.T) {
	c, o := bloomdbtest.NewClock(), bloomdbtest.Options(t.TempDir(), "b")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	for n, revoked := range map[int]bool{1: false, 2: true} {
		if n == 2 {
			bloomdbtest.Report(t, db, n)
		}
		kept, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, revoked, c.Now().Add(60*24*time.Hour), nil)
		must(t, err)
		if !kept {
			t.Errorf("message %d is not restored", n)
		}
	}
	listed(t, db, 1, true)
	listed(t, db, 2, false)
	c.Add(40 * 24 * time.Hour)
	listed(t, db, 1, false)
}

// A site that lost the ladder of a contested message still overrules what it said before: other sites have
// its earlier rungs.
func TestRestoreOfContestedMessage(t *testing.T) {
	for name, lose := range map[string]func(db *bloomdb.DB, dir string){
		"ladder": func(db *bloomdb.DB, dir string) { remove(t, dir, "ladder-*", "journal-*") },
		"all": func(db *bloomdb.DB, dir string) {
			remove(t, dir, "ladder-*", "spam-*", "revoked-*", "sketches-*", "journal-*")
		},
	} {
		t.Run(name, func(t *testing.T) {
			other, o := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Options(t.TempDir(), "b")
			db := bloomdbtest.Open(t, o)
			var turns []bloomdb.Turn
			for i := range 5 {
				if turns = append(turns, bloomdb.Turn{At: o.Now(), Revoked: i%2 == 1}); i%2 == 1 {
					bloomdbtest.Revoke(t, db, 1)
				} else {
					bloomdbtest.Report(t, db, 1)
				}
				bloomdbtest.Apply(t, other, bloomdbtest.Drain(t, db)...)
			}
			must(t, db.Close())
			lose(db, o.Dir)
			db, _, err := bloomdb.Repair(o)
			must(t, err)
			_, err = db.Restore(bloomdbtest.Message(1), layout.ClassOther, false, o.Now(), allTurns(1, turns))
			must(t, err)
			must(t, db.Close())
			db = bloomdbtest.Open(t, o)
			for _, want := range []bool{true, false, true} {
				if want {
					bloomdbtest.Report(t, db, 1)
				} else {
					bloomdbtest.Revoke(t, db, 1)
				}
				bloomdbtest.PublishSnapshot(t, db).Take(t, other)
				listed(t, db, 1, want)
				listed(t, other, 1, want)
			}
		})
	}
}

// allTurns gives each signature of a message the same turns.
func allTurns(n int, turns []bloomdb.Turn) map[signature.Signature][]bloomdb.Turn {
	all := map[signature.Signature][]bloomdb.Turn{}
	for _, s := range bloomdbtest.Message(n).Signatures {
		all[s] = turns
	}
	return all
}

// remove removes files from a folder.
func remove(t *testing.T, dir string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		for _, name := range names {
			must(t, os.Remove(name))
		}
	}
}
