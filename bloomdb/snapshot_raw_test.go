package bloomdb

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// contents are the cells of all of this site's own filters.
func contents(db *DB) map[target]map[uint64]uint32 {
	all := make(map[target]map[uint64]uint32)
	for sec := range db.ks.store.ownSections() {
		cells := make(map[uint64]uint32)
		for i := range sec.shape.blocks(sec.target.kind) {
			for _, c := range sec.block(i, nil) {
				cells[c.Pos] = c.Value
			}
		}
		all[sec.target] = cells
	}
	return all
}

// A full filter comes back from a snapshot as it was, and so it does from one that has no
// raw blocks.
func TestSnapshotOfFullFilters(t *testing.T) {
	o := testOptions(t.TempDir(), "mx1")
	o.Reports.Capacity, o.Exchange = 20, false // what is saved stands in no journal then
	db := openTest(t, o)
	for n := range 2000 {
		mustCount(t, db, n, uint32(1+n%40))
	}
	mustCount(t, db, 1, 100_000)
	for n := range 4 {
		mustReport(t, db, n)
	}
	want := contents(db)
	coded := make(map[string][]byte)
	raw := 0
	for sec := range db.ks.store.ownSections() {
		for i := range sec.shape.blocks(sec.target.kind) {
			if _, used := sec.appendRaw(nil, i); used > 0 {
				raw++
			}
		}
		sec.raw = nil
		var file bytes.Buffer
		if err := (snapshot{origin: db.ks.pub.self(), sections: []section{sec}}).encode(&file, db.ks.ring.keyID); err != nil {
			t.Fatal(err)
		}
		coded[ownPath(o.Dir, sec.target)] = file.Bytes()
	}
	if raw == 0 {
		t.Fatal("no block is full enough to be raw: this shows nothing")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string][]byte{nil, coded} {
		for path, data := range files {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		db := openTest(t, o)
		got := contents(db)
		for t2, cells := range want {
			if !maps.Equal(got[t2], cells) {
				t.Errorf("%s of generation %d: %d cells, want %d", t2.kind, t2.gen, len(got[t2]), len(cells))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d filters, want %d", len(got), len(want))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Another site's parts have no raw blocks: such a snapshot is refused, not taken half.
func TestSnapshotRawOfAnotherSite(t *testing.T) {
	dir := t.TempDir()
	db := openTest(t, testOptions(dir, "mx1"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	other := origin{"mx2", 7}
	sec := section{target: target{countFilter, 5}, period: int64(db.ks.opt.period(countFilter) / time.Second), shape: countsShape(filter.CountsShape{Lines: 1})}
	sec.block = func(uint64, []filter.Cell) []filter.Cell { return nil }
	for _, raw := range []bool{false, true} {
		if raw {
			sec.raw = func(_ uint64, dst []byte) ([]byte, int) {
				return append(append(dst, 0x21, 0x43), make([]byte, 62)...), 4
			}
		}
		var file bytes.Buffer
		if err := (snapshot{origin: other, sections: []section{sec}}).encode(&file, db.ks.ring.keyID); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(sitePath(dir, other), file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(testOptions(dir, "mx1"))
		if raw != (err != nil) || raw && !strings.Contains(err.Error(), "a raw block, which only this site's own filters have") {
			t.Errorf("raw %v: %v", raw, err)
		}
		if err == nil {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A raw block that does not fit its filter is damage, whatever its checksum says.
func TestSnapshotRawDamage(t *testing.T) {
	db := openTest(t, testOptions(t.TempDir(), "mx1"))
	path := t.TempDir() + "/x.snapshot"
	shape := countsShape(filter.CountsShape{Lines: 1})
	for name, tc := range map[string]struct {
		code []byte
		good bool
	}{
		"right":     {append([]byte{0x21, 0x43}, make([]byte, 62)...), true},
		"too short": {append([]byte{0x21, 0x43}, make([]byte, 54)...), false},
		"too long":  {append([]byte{0x21, 0x43}, make([]byte, 64)...), false},
	} {
		sec := section{target: target{countFilter, 5}, period: 1, shape: shape}
		sec.raw = func(_ uint64, dst []byte) ([]byte, int) { return append(dst, tc.code...), 4 }
		sec.block = func(uint64, []filter.Cell) []filter.Cell { return nil }
		var file bytes.Buffer
		if err := (snapshot{origin: origin{"mx1", 2}, sections: []section{sec}}).encode(&file, db.ks.ring.keyID); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readSnapshot(path, db.ks.ring.keyID, nil)
		if (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
