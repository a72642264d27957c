package bloomdb_test

import (
	"os"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/peers"
)

// A crash does not lose counts that other sites have received. Otherwise their counts would stay
// above this site's own for ever.
func TestCountsAreSyncedBeforeTheyArePublished(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	db := bloomdbtest.Open(t, o)
	other := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Count(t, db, 1, 7)
	bloomdbtest.Apply(t, other, bloomdbtest.Drain(t, db)...)
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	told, kept := other.Judge(bloomdbtest.Message(1)).Count, db.Judge(bloomdbtest.Message(1)).Count
	if told != 7 || kept != told {
		t.Errorf("published %d sightings, kept %d", told, kept)
	}
}

// Open rejects a folder with a lost journal, also without a list of segments. After a repair,
// the journal continues behind every position in the identity. Later reports are published,
// also after a crash. The content of the lost segments that is in a snapshot is published by a
// snapshot.
func TestLostJournal(t *testing.T) {
	remove := func(t *testing.T, dir string, names []string) {
		for _, name := range names {
			must(t, os.Remove(name))
		}
	}
	for name, c := range map[string]struct {
		lose      func(t *testing.T, dir string, segments []string)
		published bool // before the loss; otherwise all changes are pending
		due       bool
	}{
		"nothing":                        {func(*testing.T, string, []string) {}, true, false},
		"all":                            {remove, true, true},
		"all, and nothing was published": {remove, false, true},
		"all of it is zeros": {func(t *testing.T, dir string, s []string) {
			remove(t, dir, s[:len(s)-1])
			must(t, os.WriteFile(s[len(s)-1], make([]byte, 100), 0o600))
		}, true, true},
		"all, and counts of domains begin anew": {func(t *testing.T, dir string, s []string) {
			remove(t, dir, s)
			id, err := folder.ReadIdentity(dir)
			must(t, err)
			id.DomainsLSN, id.PublishedLSN = folder.MakeLSN(40, 0), 0
			must(t, id.Write(dir))
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ramDir(t)
			o := small(dir)
			o.Exchange = true
			db := bloomdbtest.MustOpen(t, o)
			must(t, db.Resume(0, 0))
			bloomdbtest.Report(t, db, 1)
			must(t, db.Save())
			if bloomdbtest.Report(t, db, 2); c.published {
				bloomdbtest.Drain(t, db)
				must(t, db.Save())
			}
			if bloomdbtest.Report(t, db, 3); c.published {
				bloomdbtest.Drain(t, db)
			}
			must(t, db.Close())
			c.lose(t, dir, files(t, dir, "journal-*"))
			if c.due {
				mustRefuse(t, o, "journal-")
				db, _, err := bloomdbtest.Repair(o)
				must(t, err)
				crash(t, db)
			}

			for range 2 { // the loss is reported after a crash, too
				db = bloomdbtest.MustOpen(t, o)
				id := identity(t, dir)
				if id.Republish != c.due {
					t.Errorf("a snapshot is due: %v, want %v", id.Republish, c.due)
				}
				if begin := db.Keyspace().Journal.Mark(); begin <= id.PublishedLSN || begin <= id.DomainsLSN {
					t.Errorf("it begins at %x, published %x, domains %x", begin, id.PublishedLSN, id.DomainsLSN)
				}
				crash(t, db)
			}
			db = bloomdbtest.MustOpen(t, o)
			must(t, db.Resume(db.Tail()))
			bloomdbtest.Report(t, db, 4)
			must(t, db.Maintain())
			crash(t, db)
			db = bloomdbtest.MustOpen(t, o)
			must(t, db.Resume(db.Tail()))
			if db.SnapshotDue() != c.due {
				t.Errorf("a snapshot is due: %v, want %v", db.SnapshotDue(), c.due)
			}
			other := bloomdbtest.Open(t, func() bloomdb.Options { o := small(t.TempDir()); o.Site = "mx2"; return o }())
			for _, d := range bloomdbtest.Drain(t, db) {
				must(t, other.Apply(d.Data, peers.Lost))
			}
			listed(t, other, 4, true) // reported after the loss
			listed(t, db, 1, true)
			must(t, db.Close())
		})
	}
}
