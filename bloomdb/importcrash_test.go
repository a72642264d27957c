package bloomdb

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// committed does the first half of an import: all up to the moment from which on it
// counts.
func committed(t testing.TB, db *DB, export []byte) {
	t.Helper()
	parts, err := db.receive(bufio.NewReader(bytes.NewReader(export)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := errors.Join(p.check(), p.commit()); err != nil {
			t.Fatal(err)
		}
	}
}

// A crash before the moment from which on an import counts leaves nothing of it, one
// after it all.
func TestImportCrash(t *testing.T) {
	c := newClock()
	export := exported(t, lived(t, alone(livedOptions(t.TempDir(), "mx1")), c))
	o := alone(livedOptions(t.TempDir(), "mx2"))
	o.Now = c.Now
	b := openTest(t, o)
	mustReport(t, b, 20)
	parts, err := b.receive(bufio.NewReader(bytes.NewReader(export)))
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	crash(t, b)
	b = openTest(t, o)
	if names, _ := filepath.Glob(filepath.Join(o.Dir, "*import*")); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
	listed(t, b, 1, false)
	listed(t, b, 20, true)

	committed(t, b, export)
	crash(t, b)
	b = openTest(t, o)
	checkLived(t, b, true)
	listed(t, b, 20, true)
	if names, _ := filepath.Glob(filepath.Join(o.Dir, "*import*")); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
	if _, err := b.Unnever(message(7)); err != nil {
		t.Fatal(err)
	}
	crash(t, b)
	if b = openTest(t, o); len(b.NeverList()) > 0 {
		t.Error("what was taken off the never-list since is on it again")
	}
}

// After a crash other sites are told, too.
func TestImportIsToldAfterCrash(t *testing.T) {
	c := newClock()
	export := exported(t, lived(t, alone(livedOptions(t.TempDir(), "mx1")), c))
	o := livedOptions(t.TempDir(), "mx2")
	o.Now = c.Now
	b := openTest(t, o)
	mustReport(t, b, 20)
	drain(t, b)
	committed(t, b, export)
	crash(t, b)
	b = openTest(t, o)
	if err := b.Resume(b.Head()); err != nil {
		t.Fatal(err)
	}
	if !b.SnapshotDue() {
		t.Error("no snapshot is due")
	}
}

// Where snapshots can't be written, the import stands in its file, through a restart,
// until they can.
func TestImportOutlivesFailedSnapshots(t *testing.T) {
	c := newClock()
	export := exported(t, lived(t, alone(livedOptions(t.TempDir(), "mx1")), c))
	o := alone(livedOptions(t.TempDir(), "mx2"))
	o.Now = c.Now
	b := openTest(t, o)
	blocked := ownPath(o.Dir, target{revokedFilter, b.opt.generation(spamFilter, c.Now())})
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ImportOwn(bytes.NewReader(export)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(importPath(o.Dir)); err != nil {
		t.Fatal(err)
	}
	if !b.saveDue() {
		c.add(saveRetry)
		if !b.saveDue() {
			t.Error("it is not tried again")
		}
	}
	checkLived(t, b, true)
	checkDamagedImport(t, b)
	crash(t, b)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, o)
	checkLived(t, b, true)
	if _, err := os.Stat(importPath(o.Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// Reports, verdicts, snapshots and the never-list go on beside an import.
func TestImportBesideReports(t *testing.T) {
	c := newClock()
	export := exported(t, lived(t, alone(livedOptions(t.TempDir(), "mx1")), c))
	o := alone(livedOptions(t.TempDir(), "mx2"))
	o.Now = c.Now
	b := openTest(t, o)
	stop := make(chan struct{})
	var beside sync.WaitGroup
	for i, work := range []func(n int) error{
		func(n int) error { return b.Report(message(1000+n), ClassScam) },
		func(n int) error { b.Judge(message(n)); return b.Count(message(2000+n), 1) },
		func(int) error { return b.save() },
		func(n int) error { _, err := b.Never(message(3000+n%3), ""); return err },
		func(n int) error { _, err := b.Retouch(message(1000 + n)); return err },
		func(int) error { return b.ExportOwn(io.Discard) },
	} {
		beside.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := work(n); errors.Is(err, ErrFull) {
					return
				} else if err != nil {
					t.Errorf("work %d: %v", i, err)
					return
				}
			}
		})
	}
	for range 3 {
		if _, err := b.ImportOwn(bytes.NewReader(export)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	beside.Wait()
	checkLived(t, b, true)
	crash(t, b)
	checkLived(t, openTest(t, o), true)
}

// checkDamagedImport holds that a check names the file of an import that is not whole.
func checkDamagedImport(t *testing.T, db *DB) {
	t.Helper()
	path := importPath(db.opt.Dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.checkImport(); err != nil {
		t.Error(err)
	}
	for _, content := range [][]byte{whole[:len(whole)-1], whole} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := db.checkImport()
		if damaged := len(content) < len(whole); damaged != (err != nil) || damaged && !strings.Contains(err.Error(), path) {
			t.Errorf("%d of %d bytes: %v", len(content), len(whole), err)
		}
	}
}

// While the key is rolled over, an export has a part of each key, and each goes where
// its key is, whichever of the two is the newer one there.
func TestImportInRollOver(t *testing.T) {
	c := newClock()
	options := func(site string, keys func(Options) Options) Options {
		o := alone(testOptions(t.TempDir(), site))
		o.Now = c.Now
		return keys(o)
	}
	old := openTest(t, options("mx1", func(o Options) Options { return o }))
	mustReport(t, old, 1)
	both := openTest(t, options("mx1", rolledOver))
	mustReport(t, both, 2)
	into := openTest(t, options("mx2", rolledOver))
	mustImport(t, into, exported(t, old))
	mustImport(t, into, exported(t, both))
	listed(t, into, 1, true)
	listed(t, into, 2, true)
	listed(t, into.Previous(), 2, true)
	back := openTest(t, options("mx3", func(o Options) Options { o.PreviousKey = &newKey; return o }))
	mustImport(t, back, exported(t, into))
	listed(t, back, 1, true)
	listed(t, back.Previous(), 2, true)
	listed(t, back.Previous(), 1, false)
	alone := openTest(t, options("mx4", onlyNew))
	if _, err := alone.ImportOwn(bytes.NewReader(exported(t, both))); !errors.Is(err, ErrFederation) {
		t.Errorf("with one of the keys only: %v", err)
	}
	listed(t, alone, 2, false)
}

// Whatever two sites have done, after an import each cell of the one is the larger one
// of both, and nothing else has changed.
func TestImportModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		dir := t.TempDir()
		live := func(site string) *DB {
			o := alone(livedOptions(filepath.Join(dir, site), site))
			o.Now = c.Now
			db, err := Open(o)
			if err != nil {
				rt.Fatal(err)
			}
			for range rapid.IntRange(0, 8).Draw(rt, "steps") {
				n := rapid.IntRange(1, 6).Draw(rt, "message")
				set := wordy(n, words(100*n, 40)...)
				set.Domains = []string{"spam.example"}
				switch rapid.SampledFrom([]string{"report", "report", "revoke", "count", "period", "save"}).Draw(rt, "what") {
				case "report":
					err = db.Report(set, Class(n%3))
				case "revoke":
					err = db.Revoke(set)
				case "count":
					err = db.Count(set, uint32(n))
				case "period":
					c.add(30 * 24 * 3600 / 4 * 1e9)
				case "save":
					err = db.save()
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
			return db
		}
		a, b := live("a"), live("b")
		want := joinedCells(b, exportedCells(a), exportedCells(b))
		var export bytes.Buffer
		if err := a.ExportOwn(&export); err != nil {
			rt.Fatal(err)
		}
		crash(t, a)
		if _, err := b.ImportOwn(bytes.NewReader(export.Bytes())); err != nil {
			rt.Fatal(err)
		}
		sameCells(rt, exportedCells(b), want)
		crash(t, b)
		b, err := Open(b.opt)
		if err != nil {
			rt.Fatal(err)
		}
		sameCells(rt, exportedCells(b), want)
		if err := b.Check(); err != nil {
			rt.Fatal(err)
		}
		crash(t, b)
		os.RemoveAll(dir)
	})
}

// joinedCells is what an import should make of two sites' cells.
func joinedCells(db *DB, from, into map[target][]filter.Cell) map[target][]filter.Cell {
	for t, cells := range from {
		if db.aged(t) {
			continue
		}
		values := make(map[uint64]uint32)
		for _, c := range slices.Concat(cells, into[t]) {
			values[c.Pos] = max(values[c.Pos], c.Value)
		}
		into[t] = nil
		for pos, v := range values {
			into[t] = append(into[t], filter.Cell{Pos: pos, Value: v})
		}
		slices.SortFunc(into[t], func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) })
	}
	return into
}

func sameCells(t *rapid.T, got, want map[target][]filter.Cell) {
	for _, side := range []map[target][]filter.Cell{got, want} {
		for at := range side {
			if !slices.Equal(got[at], want[at]) {
				t.Fatalf("%s generation %d: %d cells, want %d", at.kind, at.gen, len(got[at]), len(want[at]))
			}
		}
	}
}
