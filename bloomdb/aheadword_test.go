package bloomdb_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// aheadSite is a site that was started with a clock that was ahead over the end of the period. Once the clock
// was right, its words were written to the later period, too.
type aheadSite struct {
	*clocks
	o      bloomdb.Options
	older  string // a copy of the folder from before the clock was corrected
	later  int64  // the generation that was begun early
	words  []ledgerWord
	period time.Duration
}

// ledgerWord is the last word of a ledger about a message.
type ledgerWord struct {
	message int
	revoked bool
	at      time.Time
}

// openAhead reports message 1 before the clock was ahead and message 2 and 3 meanwhile. Afterwards all three are
// revoked, and 1 and 3 are reported again.
func openAhead(t *testing.T) (*aheadSite, *bloomdb.DB) {
	t.Helper()
	s := &aheadSite{clocks: newClocks(), older: t.TempDir()}
	s.o = s.options(t.TempDir())
	settings := bloomdbtest.SettingsOf(bloomdbtest.Open(t, s.options(t.TempDir())))
	s.later, s.period = settings.Generation(layout.SpamFilter, s.Now())+1, settings.Reports.Period
	s.Add(settings.Start(layout.Target{Gen: s.later}).Add(-50 * time.Hour).Sub(s.Now()))
	db := bloomdbtest.Open(t, s.o)
	bloomdbtest.Report(t, db, 1)
	s.pass(26 * time.Hour)
	must(t, db.Maintain())

	db = s.boot(t, db, s.o, time.Minute, 70*time.Hour)
	for _, n := range []int{2, 3} {
		bloomdbtest.Report(t, db, n)
	}
	ahead := db.Now()
	must(t, db.Close())
	must(t, os.CopyFS(s.older, os.DirFS(s.o.Dir)))
	db = bloomdbtest.Open(t, s.o)
	s.Add(-70 * time.Hour)
	s.inOrder(t, db)
	for n := 1; n <= 3; n++ {
		bloomdbtest.Revoke(t, db, n)
	}
	for _, n := range []int{1, 3} {
		bloomdbtest.Report(t, db, n)
	}
	s.words = []ledgerWord{{1, false, db.Now()}, {2, true, db.Now()}, {3, false, ahead}, {3, false, db.Now()}}
	return s, db
}

// lose closes the site, or kills it before its words are in a snapshot, and repairs it without some files.
func (s *aheadSite) lose(t *testing.T, db *bloomdb.DB, pattern string, killed bool) *bloomdb.DB {
	if killed {
		crash(t, db)
	} else {
		must(t, db.Close())
	}
	remove(t, s.o.Dir, pattern, "journal-*")
	db, _, err := bloomdb.Repair(s.o)
	must(t, err)
	for _, w := range s.words {
		_, err := db.Restore(bloomdbtest.Message(w.message), layout.ClassOther, w.revoked, w.at, nil)
		must(t, err)
	}
	return db
}

// copied starts with the older copy, beside the current ledger.
func (s *aheadSite) copied(t *testing.T, db *bloomdb.DB) *bloomdb.DB {
	must(t, db.Close())
	s.o.Dir = s.older
	db = bloomdbtest.Open(t, s.o)
	if w := s.words[1]; !db.Lacks(bloomdbtest.Message(w.message), w.revoked, w.at) {
		t.Error("the revocation is not missing")
	}
	must(t, db.LackReports(s.words[1].at))
	for _, w := range s.words {
		_, err := db.Relist(bloomdbtest.Message(w.message), layout.ClassOther, w.revoked, w.at, nil)
		must(t, err)
	}
	must(t, db.Relisted())
	return db
}

// The later generation has lost words that were given before it began. A repair, or a start with an older copy,
// writes them to it again: before and after it begins, and when the generation of their own time has expired.
func TestRestoreIntoGenerationOfAClockAhead(t *testing.T) {
	for name, lost := range map[string]func(*aheadSite, *bloomdb.DB) *bloomdb.DB{
		"revocations": func(s *aheadSite, db *bloomdb.DB) *bloomdb.DB {
			return s.lose(t, db, fmt.Sprintf("revoked-%d.snapshot", s.later), false)
		},
		"ladder": func(s *aheadSite, db *bloomdb.DB) *bloomdb.DB {
			return s.lose(t, db, fmt.Sprintf("ladder-%d.snapshot", s.later), false)
		},
		"journal":    func(s *aheadSite, db *bloomdb.DB) *bloomdb.DB { return s.lose(t, db, "journal-*", true) },
		"older copy": func(s *aheadSite, db *bloomdb.DB) *bloomdb.DB { return s.copied(t, db) },
	} {
		for _, periods := range []int{0, 1, 4} {
			if name == "journal" && periods > 0 {
				continue // by then, the words are in snapshots
			}
			t.Run(fmt.Sprintf("%s, %d periods later", name, periods), func(t *testing.T) {
				s, db := openAhead(t)
				for range periods * 7 {
					s.pass(s.period / 7)
					must(t, db.Maintain())
				}
				db = lost(s, db)
				for range 2 {
					for n, want := range map[int]bool{1: true, 2: false, 3: true} {
						listed(t, db, n, want)
					}
					must(t, db.Close())
					db = bloomdbtest.Open(t, s.o)
				}
			})
		}
	}
}

// The ledger is an older one: this site's filters have a newer word in a period that began days after the
// ledger's. That one stays.
func TestRestoreKeepsNewerWord(t *testing.T) {
	c := newClocks()
	db := bloomdbtest.Open(t, c.options(t.TempDir()))
	settings := bloomdbtest.SettingsOf(db)
	c.Add(settings.Start(layout.Target{Gen: settings.Generation(layout.SpamFilter, c.Now()) + 1}).Add(-5 * 24 * time.Hour).Sub(c.Now()))
	made := c.Now()
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Revoke(t, db, 2)
	for range 6 {
		c.pass(24 * time.Hour)
		must(t, db.Maintain())
	}
	bloomdbtest.Revoke(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	for n, revoked := range map[int]bool{1: false, 2: true} {
		_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, revoked, made, nil)
		must(t, err)
		listed(t, db, n, revoked)
	}
}
