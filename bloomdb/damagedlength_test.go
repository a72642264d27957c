package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Each file of the folder is made 64 GiB long, without a byte on disk: with its content at the beginning,
// or with zeros only. The database opens or is repaired as after any other damage, and memory is taken only
// for what such a file can rightly contain.
func TestEveryLengthDamaged(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const length, most = 64 << 30, 64 << 20
	root := ramDir(t)
	good, work := filepath.Join(root, "good"), filepath.Join(root, "work")
	fillFolder(t, good, false)
	for kind, keep := range map[string]bool{"extended": true, "all zeros": false} {
		for _, name := range allFiles(t, good) {
			copyDir(t, good, work)
			path := filepath.Join(work, name)
			var emptied error
			if !keep {
				emptied = os.Truncate(path, 0)
			}
			must(t, errors.Join(emptied, os.Truncate(path, length)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			outcome := damageOutcome(t, work, name, name+" is "+kind)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s, %s, %s: %d MiB of memory", name, kind, outcome, took>>20)
			}
		}
	}
}
