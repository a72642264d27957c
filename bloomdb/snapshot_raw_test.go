package bloomdb_test

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// contents returns the cells of all own filters.
func contents(db *bloomdb.DB) map[layout.Target]map[uint64]uint32 {
	all := make(map[layout.Target]map[uint64]uint32)
	for sec := range db.Keyspace().Store.OwnSections() {
		cells := make(map[uint64]uint32)
		for i := range sec.Shape.Blocks(sec.Target.Kind) {
			for _, c := range sec.Block(i, nil) {
				cells[c.Pos] = c.Value
			}
		}
		all[sec.Target] = cells
	}
	return all
}

// A full filter is restored from a snapshot unchanged, with and without raw blocks.
func TestSnapshotOfFullFilters(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports.Capacity, o.Exchange = 20, false // saved data is then not in the journal
	db := bloomdbtest.Open(t, o)
	for n := range 2000 {
		bloomdbtest.Count(t, db, n, uint32(1+n%40))
	}
	bloomdbtest.Count(t, db, 1, 100_000)
	for n := range 4 {
		bloomdbtest.Report(t, db, n)
	}
	want := contents(db)
	coded := make(map[string][]byte)
	raw := 0
	for sec := range db.Keyspace().Store.OwnSections() {
		for i := range sec.Shape.Blocks(sec.Target.Kind) {
			if _, used := sec.AppendRaw(nil, i); used > 0 {
				raw++
			}
		}
		sec.Raw = nil
		var file bytes.Buffer
		testenv.Check(t, (snapshot.File{Origin: db.Keyspace().Outbox.Self(), Seq: 1 << 60, Sections: []snapshot.Section{sec}}).Encode(&file, bloomdbtest.Ring.KeyID))
		coded[snapshot.OwnPath(o.Dir, sec.Target)] = file.Bytes()
	}
	if raw == 0 {
		t.Fatal("no block is full enough to be raw")
	}
	testenv.Check(t, db.Close())
	for _, files := range []map[string][]byte{nil, coded} {
		for path, data := range files {
			testenv.Check(t, os.WriteFile(path, data, 0o600))
		}
		db := bloomdbtest.Open(t, o)
		got := contents(db)
		for t2, cells := range want {
			if !maps.Equal(got[t2], cells) {
				t.Errorf("%s of generation %d: %d cells, want %d", t2.Kind, t2.Gen, len(got[t2]), len(cells))
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d filters, want %d", len(got), len(want))
		}
		testenv.Check(t, db.Close())
	}
}

// Another site's parts have no raw blocks: such a snapshot is rejected as a whole.
func TestSnapshotRawOfAnotherSite(t *testing.T) {
	dir := t.TempDir()
	db := bloomdbtest.Open(t, bloomdbtest.Options(dir, "mx1"))
	testenv.Check(t, db.Close())
	other := layout.Origin{Site: "mx2", Epoch: 7}
	sec := snapshot.Section{Target: layout.Target{Kind: layout.CountFilter, Gen: 5}, Period: int64(bloomdbtest.SettingsOf(db).Period(layout.CountFilter) / time.Second), Shape: layout.CountsShape(filter.CountsShape{Lines: 1})}
	sec.Block = func(uint64, []filter.Cell) []filter.Cell { return nil }
	for _, raw := range []bool{false, true} {
		if raw {
			sec.Raw = func(_ uint64, dst []byte) ([]byte, int) {
				return append(append(dst, 0x21, 0x43), make([]byte, 62)...), 4
			}
		}
		var file bytes.Buffer
		testenv.Check(t, (snapshot.File{Origin: other, Sections: []snapshot.Section{sec}}).Encode(&file, bloomdbtest.Ring.KeyID))
		testenv.Check(t, os.WriteFile(snapshot.SitePath(dir, other), file.Bytes(), 0o600))
		db, err := bloomdbtest.TryOpen(bloomdbtest.Options(dir, "mx1"))
		if raw != (err != nil) || raw && !strings.Contains(err.Error(), "raw block in another site's snapshot") {
			t.Errorf("raw %v: %v", raw, err)
		}
		if err == nil {
			testenv.Check(t, db.Close())
		}
	}
}

// A raw block that does not fit its filter is damage, even with a correct checksum.
func TestSnapshotRawDamage(t *testing.T) {
	path := t.TempDir() + "/x.snapshot"
	shape := layout.CountsShape(filter.CountsShape{Lines: 1})
	for name, tc := range map[string]struct {
		code []byte
		good bool
	}{
		"right":     {append([]byte{0x21, 0x43}, make([]byte, 62)...), true},
		"too short": {append([]byte{0x21, 0x43}, make([]byte, 54)...), false},
		"too long":  {append([]byte{0x21, 0x43}, make([]byte, 64)...), false},
	} {
		sec := snapshot.Section{Target: layout.Target{Kind: layout.CountFilter, Gen: 5}, Period: 1, Shape: shape}
		sec.Raw = func(_ uint64, dst []byte) ([]byte, int) { return append(dst, tc.code...), 4 }
		sec.Block = func(uint64, []filter.Cell) []filter.Cell { return nil }
		var file bytes.Buffer
		testenv.Check(t, (snapshot.File{Origin: layout.Origin{Site: "mx1", Epoch: 2}, Sections: []snapshot.Section{sec}}).Encode(&file, bloomdbtest.Ring.KeyID))
		testenv.Check(t, os.WriteFile(path, file.Bytes(), 0o600))
		_, err := snapshot.Read(path, bloomdbtest.Ring.KeyID, nil)
		if (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
