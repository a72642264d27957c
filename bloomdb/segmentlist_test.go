package bloomdb_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// crashDir is the folder of the site that TestCrashedSite runs until it is killed.
const crashDir = "SPAMBLOOM_TEST_CRASH"

// TestCrashedSite is the process that TestKilledAtEveryStep kills: it reports messages, prints
// the number of each acknowledged one, and writes snapshots between them.
func TestCrashedSite(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("run by TestKilledAtEveryStep")
	}
	runtime.LockOSThread() // system calls are counted by thread
	for life := range 2 {
		db, err := bloomdbtest.TryOpen(small(dir))
		must(t, err)
		for i := range 4 {
			must(t, db.Report(bloomdbtest.Message(10*life+i), layout.ClassOther))
			fmt.Printf("acknowledged %d\n", 10*life+i)
			if i == 1 {
				must(t, db.Save())
				bloomdbtest.Drain(t, db)
				recordSizes(t, db)
			}
		}
		must(t, db.Save())
		must(t, db.Report(bloomdbtest.Message(10*life+5), layout.ClassOther))
		fmt.Printf("acknowledged %d\n", 10*life+5)
		must(t, db.Close())
	}
}

// A process is killed at each of its steps: before each rename, removal and sync of a file. Open
// never rejects the folder or reports damage, and all acknowledged reports are present.
func TestKilledAtEveryStep(t *testing.T) {
	strace := testenv.Program(t, "strace")
	if testenv.RanWithoutRace(t) {
		return
	}
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid()) // the program's file may have no name any more
	root := ramDir(t)
	for calls, every := range map[string]int{"rename,renameat,renameat2": 1, "unlink,unlinkat": 1, "fsync": 1, "ftruncate": 1} {
		if !testenv.Soak() && calls == "fsync" {
			every = 6
		}
		t.Run(calls, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for n := 1; ; n += every {
				dir := filepath.Join(root, calls, strconv.Itoa(n))
				must(t, os.RemoveAll(dir))
				must(t, os.MkdirAll(filepath.Dir(dir), 0o700))
				cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-e", "trace="+calls, "-e", "inject="+calls+":signal=KILL:when="+strconv.Itoa(n),
					"-o", os.DevNull, self, "-test.run=^TestCrashedSite$", "-test.count=1")
				cmd.Env = append(os.Environ(), crashDir+"="+dir)
				out, err := cmd.Output()
				checkCrashed(t, dir, out, fmt.Sprintf("before call %d", n))
				if err == nil {
					break // it ended by itself
				}
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("not killed before call %d: %v\n%s%s", n, err, out, exit.Stderr)
				}
				steps++
			}
			t.Logf("killed at %d steps", steps)
			if steps == 0 && calls != "ftruncate" {
				t.Error("never killed")
			}
		})
	}
}

// checkCrashed opens the folder of a killed process.
func checkCrashed(t *testing.T, dir string, out []byte, when string) {
	t.Helper()
	db, err := bloomdbtest.TryOpen(small(dir))
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer db.Close()
	for line := range strings.Lines(string(out)) {
		var n int
		if _, err := fmt.Sscanf(line, "acknowledged %d", &n); err == nil && !db.Judge(bloomdbtest.Message(n)).Listed {
			t.Errorf("%s: acknowledged report %d is lost", when, n)
		}
	}
	if files := db.DamagedFiles(); len(files) > 0 {
		t.Errorf("%s: %v", when, files)
	}
	if err := db.CheckFiles(); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

// Open rejects a folder in which a segment of the journal is missing, empty, cut short or of
// another folder. A repair restores what Restore has, lists the loss as a damaged file until
// the file is removed, and makes a snapshot due for other sites.
func TestLostSegment(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"missing":               os.Remove,
		"empty":                 func(path string) error { return os.Truncate(path, 0) },
		"cut in its header":     func(path string) error { return os.Truncate(path, journal.Header/2) },
		"cut behind its header": func(path string) error { return os.Truncate(path, journal.Header) },
		"cut in half": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.Truncate(path, info.Size()/2))
		},
		"zeros": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, make([]byte, info.Size()), 0o600))
		},
		"of another key": func(path string) error {
			return os.WriteFile(path, (&journal.Log{KeyID: [8]byte{9}}).Header(), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := small(ramDir(t))
			db := bloomdbtest.MustOpen(t, o)
			bloomdbtest.Report(t, db, 1)
			must(t, db.Save())
			bloomdbtest.Report(t, db, 2)
			bloomdbtest.Report(t, db, 3)
			must(t, db.Resume(db.Tail()))
			bloomdbtest.Drain(t, db)
			recordSizes(t, db)
			crash(t, db)
			segments := files(t, o.Dir, "journal-*")
			path := segments[len(segments)-1]
			must(t, spoil(path))
			mustRefuse(t, o, filepath.Base(path))

			db, done, err := bloomdbtest.Repair(o)
			if err != nil || len(done) != 1 || done[0].Path != path || done[0].Lost == "" {
				t.Fatal(done, err)
			}
			for _, n := range []int{2, 3} {
				_, err := db.Restore(bloomdbtest.Message(n), layout.ClassOther, false, o.Now(), nil)
				must(t, err)
			}
			must(t, db.Close())
			for range 2 {
				db = bloomdbtest.MustOpen(t, o)
				if got := db.DamagedFiles(); len(got) != 1 || got[0].Name != filepath.Base(path)+folder.DamagedSuffix {
					t.Errorf("damaged: %v", got)
				}
				if !identity(t, o.Dir).Republish {
					t.Error("no snapshot is due")
				}
				for n := range 3 {
					listed(t, db, n+1, true)
				}
				crash(t, db)
			}
			must(t, os.Remove(path+folder.DamagedSuffix))
			db = bloomdbtest.Open(t, o)
			if got := db.DamagedFiles(); len(got) > 0 {
				t.Errorf("after its removal: %v", got)
			}
		})
	}
}

// All missing segments are named.
func TestLostJournalIsNamed(t *testing.T) {
	o := small(ramDir(t))
	db := bloomdbtest.MustOpen(t, o)
	bloomdbtest.Report(t, db, 1)
	crash(t, db)
	db = bloomdbtest.MustOpen(t, o)
	bloomdbtest.Report(t, db, 2)
	crash(t, db)
	gone := files(t, o.Dir, "journal-*")
	for _, path := range gone {
		must(t, os.Remove(path))
	}
	_, err := bloomdbtest.TryOpen(o)
	if len(gone) < 2 {
		t.Fatal(gone)
	}
	for _, path := range gone {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s is not named: %v", path, err)
		}
	}
}

// The last records of a journal are torn if they are not recorded as synced, and damaged if they
// are.
func TestTornTail(t *testing.T) {
	for _, known := range []bool{false, true} {
		o := small(ramDir(t))
		db := bloomdbtest.MustOpen(t, o)
		bloomdbtest.Report(t, db, 1)
		if known {
			recordSizes(t, db)
		}
		crash(t, db)
		path := files(t, o.Dir, "journal-*")[0]
		must(t, os.Truncate(path, journal.Header+20)) // in the first record
		if known {
			mustRefuse(t, o, filepath.Base(path))
			continue
		}
		db = bloomdbtest.MustOpen(t, o)
		listed(t, db, 1, false)
		crash(t, db)
	}
}

// If the list is lost, only the check that the journal is complete is lost. A program that does
// not support the list may have used the folder: then the list is ignored.
func TestLostList(t *testing.T) {
	o := small(ramDir(t))
	db := bloomdbtest.MustOpen(t, o)
	bloomdbtest.Report(t, db, 1)
	crash(t, db)
	path := filepath.Join(o.Dir, journal.SegmentsFile)
	must(t, os.Truncate(path, 20))
	for _, name := range []string{journal.SegmentsFile + folder.DamagedSuffix, journal.SegmentsFile} { // cut, then missing
		db = bloomdbtest.MustOpen(t, o)
		if got := db.DamagedFiles(); len(got) != 1 || got[0].Name != name {
			t.Errorf("%s: %v", name, got)
		}
		listed(t, db, 1, true)
		must(t, db.Close())
		must(t, errors.Join(os.RemoveAll(path+folder.DamagedSuffix), os.Remove(path)))
	}
	db = bloomdbtest.MustOpen(t, o)
	must(t, db.Close())

	list := journal.SegmentList{Dir: o.Dir, KeyID: bloomdbtest.Ring.KeyID}
	must(t, list.Change(func(sizes map[uint32]int64) { sizes[999] = journal.Header }))
	mustRefuse(t, o, "journal-00000999")
	id, err := folder.ReadIdentity(o.Dir)
	must(t, err)
	id.Snapshots = id.Snapshots[:len(id.Snapshots)-1]
	must(t, id.Write(o.Dir))
	db = bloomdbtest.Open(t, o)
	listed(t, db, 1, true)
}

// Open rejects a folder with a missing or empty companion until a repair has reported it.
func TestLostCompanion(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
	} {
		o := small(ramDir(t))
		path := filepath.Join(o.Dir, "reports.db")
		db := bloomdbtest.MustOpen(t, o)
		must(t, os.WriteFile(path, []byte("reports"), 0o600))
		must(t, db.AddCompanion(path, func() uint64 { return 0 }, nil))
		must(t, db.AddCompanion(path, func() uint64 { return 0 }, nil))
		crash(t, db)
		db = bloomdbtest.MustOpen(t, o)
		crash(t, db)
		must(t, spoil(path))
		mustRefuse(t, o, "reports.db")
		db, done, err := bloomdbtest.Repair(o)
		if err != nil || len(done) != 1 || done[0].Path != path {
			t.Fatal(name, done, err)
		}
		must(t, os.WriteFile(path, []byte("reports"), 0o600))
		must(t, db.Close())
		db = bloomdbtest.Open(t, o)
		if got := db.DamagedFiles(); len(got) != 1 || got[0].Name != "reports.db"+folder.DamagedSuffix {
			t.Errorf("%s: %v", name, got)
		}
	}
}
