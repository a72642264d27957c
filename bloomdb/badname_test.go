package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
)

// A file under a name with a wrong byte, or a copy under such a name, costs no report: the database opens, or
// refuses the folder and a repair gives the file its name back. A number that no file of this state can
// have is not continued. No ledger helps here.
func TestDamagedNames(t *testing.T) {
	good, work := filepath.Join(ramDir(t), "good"), filepath.Join(ramDir(t), "work")
	fillFolder(t, good, false)
	last := filepath.Base(files(t, good, "journal-*")[1])
	for _, c := range []struct {
		from, to     string
		renamed      bool // false: it is a copy
		opens, aside bool
	}{
		{from: last, to: "journal-10000002", renamed: true},
		{from: last, to: "journal-20000002", renamed: true}, // an LSN has no room for this number
		{from: last, to: "journal-80000002", renamed: true},
		{from: last, to: "journal-00100002", renamed: true},
		{from: last, to: "bournal-00000002", renamed: true},
		{from: last, to: "journal-0000000r", renamed: true},
		{from: last, to: "journal-99999999", aside: true},
		{from: last, to: "journal-16777214", aside: true}, // the last but one with room
		{from: last, to: "journal-2", opens: true},
		{from: "spam-2930.snapshot", to: "spam-6930.snapshot", renamed: true},
		{from: "spam-2930.snapshot", to: "spam-r930.snapshot", renamed: true},
		{from: "revoked-2930.snapshot", to: "ravoked-2930.snapshot", renamed: true},
		{from: "spam-2930.snapshot", to: "spam-6930.snapshot", aside: true},
		{from: "spam-2930.snapshot", to: "spam-+2930.snapshot", opens: true, aside: true},
		{from: "revoked-2930.snapshot", to: "Revoked-2930.snapshot", opens: true, aside: true},
		{from: "domains-2930.snapshot", to: "tomains-2930.snapshot", opens: true, aside: true},
	} {
		copyDir(t, good, work)
		from, to := filepath.Join(work, c.from), filepath.Join(work, c.to)
		must(t, os.Link(from, to))
		if c.renamed {
			must(t, os.Remove(from))
		}
		o := repairOptions(work)
		db, err := bloomdbtest.TryOpen(o)
		if (err == nil) != c.opens {
			t.Errorf("%s: opened with error %v", c.to, err)
		}
		var damage *folder.DamageError
		if err != nil {
			if !errors.As(err, &damage) {
				t.Errorf("%s: %v is no damage", c.to, err)
			}
			if db, _, err = bloomdbtest.Repair(o); err != nil {
				t.Errorf("%s is not repaired: %v", c.to, err)
				continue
			}
		}
		must(t, db.Close())
		if db, err = bloomdbtest.TryOpen(o); err != nil {
			t.Errorf("%s: after the stop: %v", c.to, err)
			continue
		}
		for n, want := range map[int]bool{1: true, 2: true, 3: false, 4: true} {
			if db.Judge(bloomdbtest.Message(n)).Listed != want {
				t.Errorf("%s: message %d is listed: %v", c.to, n, !want)
			}
		}
		if _, err := os.Stat(to + folder.DamagedSuffix); (err == nil) != c.aside {
			t.Errorf("%s: set aside: %v", c.to, err == nil)
		}
		if newest := db.Keyspace().Journal.Mark().Segment(); newest > 9 {
			t.Errorf("%s: the journal continues with segment %d", c.to, newest)
		}
		crash(t, db)
	}
}
