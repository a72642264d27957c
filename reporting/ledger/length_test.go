package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// A file is far longer than its header says, or has no header and is far longer than its records, without a
// byte on disk. It opens or is repaired, all reports remain, and memory is taken only for what it contains.
func TestLengthDamaged(t *testing.T) {
	const most = 64 << 20
	good := filled(t)
	for name, c := range map[string]struct {
		length  int64
		headers bool
		damaged bool
	}{
		"with headers":    {64 << 30, true, false},
		"without headers": {256 << 20, false, true},
	} {
		data := append([]byte(nil), good...)
		if !c.headers {
			clear(data[:2*os.Getpagesize()])
		}
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, errors.Join(os.WriteFile(path, data, 0o600), os.Truncate(path, c.length)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l, err := Open(Options{Path: path, Model: pair})
		if errors.Is(err, record.ErrDamaged) != c.damaged {
			t.Fatalf("%s: Open: %v", name, err)
		}
		if c.damaged {
			if done, err := Repair(Options{Path: path, Model: pair}); err != nil || done.Reports != 200 {
				t.Errorf("%s: Repair: %d reports, %v", name, done.Reports, err)
			}
			l, err = Open(Options{Path: path, Model: pair})
		}
		testenv.Check(t, err)
		testenv.Check(t, l.Close())
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: %d MiB of memory", name, took>>20)
		}
	}
}
