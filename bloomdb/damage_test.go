package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// small configures a database whose files have a few hundred bytes each, so that every byte can
// be tested.
func small(dir string) bloomdb.Options {
	o := bloomdbtest.Options(dir, "mx1")
	o.Reports.Capacity, o.Counts.Capacity, o.Reports.Classes = 20, 10, true
	return o
}

// filled returns the folder of a database that was closed, or that crashed.
func filled(t *testing.T, closed bool) string {
	dir := t.TempDir()
	db := bloomdbtest.Open(t, small(dir))
	other := bloomdbtest.Open(t, func() bloomdb.Options { o := small(t.TempDir()); o.Site = "mx2"; return o }())
	mustReportAs(t, other, 7, layout.ClassScam)
	bloomdbtest.Count(t, other, 7, 20)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
	testenv.Check(t, db.Save())
	mustReportAs(t, db, 1, layout.ClassPhish)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Count(t, db, 1, 30)
	if closed {
		testenv.Check(t, db.Close())
	} else {
		testenv.Check(t, db.Keyspace().Journal.Flush())
		crash(t, db)
	}
	return dir
}

func files(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, dir, err)
	}
	return names
}

// copyDir copies a folder, so that the copy can be damaged.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	os.RemoveAll(to)
	testenv.Check(t, os.CopyFS(to, os.DirFS(from)))
}

// A snapshot that is truncated at any length, or has one flipped bit, is rejected with the
// offset of the damage, and none of it is used.
func TestDamagedSnapshot(t *testing.T) {
	dir := filled(t, true)
	work := t.TempDir()
	keyID := bloomdbtest.Ring.KeyID
	for _, path := range append(files(t, dir, "*.snapshot"), folder.IdentityPath(dir)) {
		name := filepath.Base(path)
		good, err := os.ReadFile(path)
		testenv.Check(t, err)
		try := func(what string, at int, data []byte) {
			t.Helper()
			bad := filepath.Join(work, name)
			testenv.Check(t, os.WriteFile(bad, data, 0o600))
			var err error
			if name == "identity" {
				_, err = folder.ReadIdentity(work)
			} else {
				_, err = snapshot.Read(bad, keyID, nil)
			}
			var damage *folder.DamageError
			if !errors.As(err, &damage) || damage.Path != bad || damage.Offset > int64(len(good)) {
				t.Fatalf("%s %s at %d of %d: error %v", name, what, at, len(good), err)
			}
		}
		for at := range good {
			try("cut", at, good[:at])
			flipped := []byte(string(good))
			flipped[at] ^= 1 << (at % 8)
			try("flipped", at, flipped)
		}
		try("longer", len(good), append([]byte(string(good)), 0))
	}
}

// Open rejects a folder in which own reports are damaged, and the error names the file. Any
// other damaged file is set aside.
func TestOpenNamesDamage(t *testing.T) {
	dir, work := filled(t, true), filepath.Join(t.TempDir(), "work")
	for _, path := range append(files(t, dir, "*.snapshot"), files(t, dir, "journal-*")...) {
		name := filepath.Base(path)
		bad := filepath.Join(work, name)
		refused := func(says string) {
			t.Helper()
			if repair.Expendable(name) {
				mustSetAside(t, small(work), bad)
				return
			}
			db, err := bloomdbtest.TryOpen(small(work))
			if err == nil {
				db.Close()
				t.Errorf("%s: no error", name)
			} else if !strings.Contains(err.Error(), bad+says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		copyDir(t, dir, work)
		data, _ := os.ReadFile(bad)
		data[len(data)/2] ^= 4
		os.WriteFile(bad, data, 0o600)
		refused(" is damaged at offset ")
		if strings.HasSuffix(name, ".snapshot") {
			copyDir(t, dir, work)
			os.Remove(bad)
			refused(" is damaged at offset 0: the file is missing")
		}
	}
	copyDir(t, dir, work)
	os.Remove(folder.IdentityPath(work))
	if _, err := bloomdbtest.TryOpen(small(work)); err == nil || !strings.Contains(err.Error(), "identity is missing") {
		t.Errorf("identity removed: %v", err)
	}
}

// A journal that a crash truncated anywhere after its header opens with all records before the
// cut. The header is on disk before any record, so a cut in it is damage, as is a flipped bit in
// the middle. No record is invented.
func TestCutJournal(t *testing.T) {
	testenv.Servers(t)
	dir, work := filled(t, false), filepath.Join(t.TempDir(), "work")
	last := filepath.Base(files(t, dir, "journal-*")[len(files(t, dir, "journal-*"))-1])
	good, _ := os.ReadFile(filepath.Join(dir, last))
	before := 0
	for cut := 0; cut < len(good); cut += stride {
		copyDir(t, dir, work)
		os.WriteFile(filepath.Join(work, last), good[:cut], 0o600)
		if cut < journal.Header {
			mustRefuse(t, small(work), last)
			continue
		}
		db, err := bloomdbtest.TryOpen(small(work))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		known := 0
		for n, want := range map[int]bool{1: true, 2: true, 3: false} {
			if db.Judge(bloomdbtest.Message(n)).Listed {
				known++
				if !want {
					t.Fatalf("cut at %d: message %d was invented", cut, n)
				}
			}
		}
		if known < before {
			t.Fatalf("cut at %d: %d reports, %d with less of the journal", cut, known, before)
		}
		before = known
		if !db.Judge(bloomdbtest.Message(7)).Listed {
			t.Fatalf("cut at %d: the other site's report is lost", cut)
		}
		if err := db.Close(); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	if before != 2 {
		t.Errorf("%d reports at the last cut, want 2", before)
	}
	for at := 0; at < len(good); at += stride {
		copyDir(t, dir, work)
		bad := []byte(string(good))
		bad[at] ^= 0x40
		os.WriteFile(filepath.Join(work, last), bad, 0o600)
		db, err := bloomdbtest.TryOpen(small(work))
		var damage *folder.DamageError
		if err != nil && !errors.As(err, &damage) {
			t.Fatalf("byte %d flipped: %v", at, err)
		}
		if err == nil { // read as the torn end of a crash
			if db.Judge(bloomdbtest.Message(3)).Listed {
				t.Fatalf("byte %d flipped: a report was invented", at)
			}
			db.Close()
		}
	}
}

// Files left by a crash during a snapshot are removed. Unknown files are kept.
func TestLeftOvers(t *testing.T) {
	dir := filled(t, true)
	temp := filepath.Join(dir, ".spam-2931.snapshot123456")
	strange := filepath.Join(dir, "notes.txt")
	os.WriteFile(temp, []byte("half"), 0o600)
	os.WriteFile(strange, []byte("mine"), 0o600)
	db := bloomdbtest.Open(t, small(dir))
	if _, err := os.Stat(temp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary file: %v", err)
	}
	if _, err := os.Stat(strange); err != nil {
		t.Errorf("strange file: %v", err)
	}
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("report lost")
	}
}

func FuzzSnapshot(f *testing.F) {
	dir := f.TempDir()
	db, err := bloomdbtest.TryOpen(small(dir))
	if err != nil {
		f.Fatal(err)
	}
	db.Report(bloomdbtest.Message(1), layout.ClassPhish)
	db.Count(bloomdbtest.Message(1), 99)
	db.Close()
	names, _ := filepath.Glob(filepath.Join(dir, "*.snapshot"))
	for _, n := range names {
		data, _ := os.ReadFile(n)
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "fuzz.snapshot")
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		snapshot.Read(path, bloomdbtest.Ring.KeyID, nil)
	})
}

func FuzzJournal(f *testing.F) {
	j := journal.Log{KeyID: [8]byte{1}}
	seg := j.Header()
	seg = journal.AppendFrame(seg, journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2900}, Hashes: hashesOf(bloomdbtest.Message(1))}, 0)
	seg = journal.AppendFrame(seg, journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2900}, Hashes: hashesOf(bloomdbtest.Message(3)), Class: layout.ClassScam}, 0)
	seg = journal.AppendFrame(seg, journal.Record{Target: layout.Target{Kind: layout.CountFilter, Gen: -3}, Hashes: hashesOf(bloomdbtest.Message(2))[:1], Count: 77}, 60)
	seg = journal.AppendFrame(seg, journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2900}, Retouched: []journal.RetouchedKey{{Hash: filter.Hash{1, 2, 3, 4}, Bit: 7}}}, 0)
	seg = journal.AppendFrame(seg, journal.Record{Target: layout.Target{Kind: layout.RevokedFilter, Gen: 2900}, Votes: []uint64{1, 2}}, 0)
	f.Add(seg)
	f.Add(seg[:len(seg)-3])
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		for _, last := range []bool{true, false} {
			size, torn, err := journal.ReadSegment(path, [8]byte{1}, last, 0, func(int64, journal.Record) error { return nil })
			if err == nil && size+torn != int64(len(data)) {
				t.Fatalf("%d and %d of %d bytes", size, torn, len(data))
			}
		}
	})
}

func hashesOf(set signature.Set) (hashes []filter.Hash) {
	for i, s := range set.Signatures {
		hashes = append(hashes, filter.Hash{uint64(i), uint64(s.Digest[0])})
	}
	return hashes
}
