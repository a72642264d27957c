package bloomdb

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// alone are the options of a site without an exchange: it counts for itself.
func alone(o Options) Options {
	o.Exchange = false
	return o
}

func exported(t testing.TB, db *DB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := db.ExportOwn(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustImport(t testing.TB, db *DB, export []byte) Imported {
	t.Helper()
	in, err := db.ImportOwn(iotest.OneByteReader(bytes.NewReader(export)))
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(db.opt.Dir, "*import*")); len(names) > 0 {
		t.Errorf("%v are left", names)
	}
	return in
}

// lived is a database with something of everything, over two generations.
func lived(t testing.TB, o Options, c *clock) *DB {
	t.Helper()
	o.Now = c.Now
	db := openTest(t, o)
	mustReportAs(t, db, 1, ClassPhish)
	mustReport(t, db, 2)
	c.add(o.Reports.Period)
	mustReport(t, db, 3)
	mustReportSet(t, db, wordy(4, words(0, 60)...))
	linked := wordy(5, words(500, 60)...)
	linked.Domains = []string{"spam.example"}
	mustReportSet(t, db, linked)
	if err := db.Revoke(message(2)); err != nil {
		t.Fatal(err)
	}
	mustReport(t, db, 6)
	if _, err := db.Retouch(message(6)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Never(message(7), "our newsletter"); err != nil {
		t.Fatal(err)
	}
	mustCount(t, db, 8, 30)
	return db
}

// livedOptions keep two generations of a week apart, with room for all of lived.
func livedOptions(dir, site string) Options {
	o := testOptions(dir, site)
	o.Reports.Period, o.Reports.Classes = 168*time.Hour, true
	o.Reports.Capacity, o.Counts.Capacity = 100, 100
	return o
}

// checkLived holds that what lived did is known.
func checkLived(t *testing.T, db *DB, counts bool) {
	t.Helper()
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true, 6: false, 7: false, 9: false} {
		listed(t, db, n, want)
	}
	if e := db.Judge(message(1)); e.Class != ClassPhish {
		t.Errorf("class %s", e.Class)
	}
	if !db.Judge(wordy(50, words(0, 60)...)).Listed {
		t.Error("a near-duplicate is not listed")
	}
	if err := db.Report(message(7), ClassOther); !errors.Is(err, ErrNever) {
		t.Errorf("declared never to be spam, it is reported: %v", err)
	}
	if got := db.Judge(message(8)).Count; counts != (got >= 30) {
		t.Errorf("message 8 counted %d times", got)
	}
	if g := db.view.Load().reports[0]; g.domains == nil || g.domains.Count(db.domainKeys("spam.example").campaigns) != 1 {
		t.Error("the campaign of a domain is not counted")
	}
}

// What is known on one machine is known on the other one, after a crash, too; and
// importing it again changes nothing.
func TestExportImport(t *testing.T) {
	c := newClock()
	a := lived(t, alone(livedOptions(t.TempDir(), "mx1")), c)
	export := exported(t, a)
	o := alone(livedOptions(t.TempDir(), "mx2"))
	o.Now = c.Now
	b := openTest(t, o)
	mustReport(t, b, 20)
	in := mustImport(t, b, export)
	if in.Site != "mx1" || !in.Made.Equal(c.Now().Truncate(time.Millisecond)) || in.Bits == 0 || in.Cells == 0 || in.Never != 1 || in.Retouched != 2 || in.Filters != 7 || in.Aged != 0 || in.CountsLeftOut {
		t.Errorf("imported %+v", in)
	}
	checkLived(t, b, true)
	listed(t, b, 20, true)
	again := mustImport(t, b, export)
	if again.Bits != 0 || again.Cells != 0 || again.Never != 0 || again.Retouched != 0 {
		t.Errorf("imported again %+v", again)
	}
	crash(t, b)
	b = openTest(t, o)
	checkLived(t, b, true)
	listed(t, b, 20, true)
	if got, want := len(exported(t, a)), len(export); got != want {
		t.Errorf("the export is %d bytes long, was %d: exporting changes something", got, want)
	}
}

// Other sites are told by a snapshot, of reports only: counts would be counted twice.
func TestImportIsToldToOthers(t *testing.T) {
	c := newClock()
	a := lived(t, alone(livedOptions(t.TempDir(), "mx1")), c)
	o, p := livedOptions(t.TempDir(), "mx2"), livedOptions(t.TempDir(), "mx3")
	o.Now, p.Now = c.Now, c.Now
	b, other := openTest(t, o), openTest(t, p)
	mustReport(t, b, 20)
	mustApply(t, other, drain(t, b)...)
	if b.SnapshotDue() {
		t.Fatal("a snapshot is due before")
	}
	in := mustImport(t, b, exported(t, a))
	if !in.CountsLeftOut || in.Cells > 4 { // those of the domain
		t.Errorf("imported %+v", in)
	}
	checkLived(t, b, false)
	if !b.SnapshotDue() {
		t.Fatal("no snapshot is due")
	}
	mustReport(t, b, 21)
	for _, d := range drain(t, b) {
		if err := other.Apply(d.Data, Next); !errors.Is(err, ErrGap) {
			t.Errorf("delta after the import: %v, want a gap", err)
		}
	}
	publishSnapshot(t, b).take(t, other)
	for n, want := range map[int]bool{1: true, 2: false, 3: true, 4: true, 20: true, 21: true} {
		listed(t, other, n, want)
	}
	mustImport(t, b, exported(t, a))
	if b.SnapshotDue() {
		t.Error("a snapshot is due for an import without news")
	}
}

// What is damaged or cut at any byte is refused, and nothing of it is known.
func TestImportDamaged(t *testing.T) {
	c := newClock()
	o := alone(small(t.TempDir()))
	o.Reports.Period = 168 * time.Hour
	o.Now = c.Now
	a := openTest(t, o)
	mustReportAs(t, a, 1, ClassPhish)
	mustCount(t, a, 1, 20)
	if _, err := a.Never(message(7), "x"); err != nil {
		t.Fatal(err)
	}
	export := exported(t, a)
	o.Dir = t.TempDir()
	b := openTest(t, o)
	before := exportedCells(b)
	refused := func(what string, at int, damaged []byte) {
		t.Helper()
		if _, err := b.ImportOwn(bytes.NewReader(damaged)); err == nil {
			t.Errorf("%s at byte %d of %d is taken", what, at, len(export))
		}
		if names, _ := filepath.Glob(filepath.Join(b.opt.Dir, "*import*")); len(names) > 0 {
			t.Fatalf("%s at byte %d: %v are left", what, at, names)
		}
	}
	for at := 0; at < len(export); at += stride {
		flipped := bytes.Clone(export)
		flipped[at] ^= 1 << (at % 8)
		refused("a flipped bit", at, flipped)
		refused("an end", at, export[:at])
	}
	refused("a further byte", len(export), append(bytes.Clone(export), 0))
	if listed(t, b, 1, false); !reflect.DeepEqual(exportedCells(b), before) || len(b.NeverList()) > 0 {
		t.Error("something of it is known")
	}
	mustImport(t, b, export)
	listed(t, b, 1, true)
}

// exportedCells are the cells of all own filters.
func exportedCells(db *DB) map[target][]filter.Cell {
	cells := make(map[target][]filter.Cell)
	v := db.view.Load()
	var targets []target
	for _, g := range v.reports {
		for _, kind := range append(reportKinds[:len(reportKinds):len(reportKinds)], domainFilter) {
			targets = append(targets, target{kind, g.num})
		}
	}
	for _, g := range v.counts {
		targets = append(targets, target{countFilter, g.num})
	}
	for _, t := range targets {
		if own, ok := db.ownFilter(t); ok {
			for i := range own.shape.blocks(t.kind) {
				cells[t] = own.block(i, cells[t])
			}
		}
	}
	return cells
}

// A fault of the reader is its own, and not the stream's.
func TestImportReaderFails(t *testing.T) {
	a := lived(t, livedOptions(t.TempDir(), "mx1"), newClock())
	export := exported(t, a)
	fault := errors.New("line is down")
	r := io.MultiReader(bytes.NewReader(export[:len(export)/2]), iotest.ErrReader(fault))
	if _, err := a.ImportOwn(r); !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}

// What can't be joined is refused with both sides' values.
func TestImportRefused(t *testing.T) {
	c := newClock()
	o := alone(livedOptions(t.TempDir(), "mx1"))
	export := exported(t, lived(t, o, c))
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		before func(t *testing.T, db *DB)
		err    error
		text   []string
	}{
		{name: "another key", change: func(o *Options) { o.Key = newKey }, err: ErrFederation, text: []string{KeyID(testKey), KeyID(newKey)}},
		{name: "another capacity", change: func(o *Options) { o.Reports.Capacity *= 2 }, err: ErrParameters, text: []string{"spam filter", "there ", "here ", "reports.capacity"}},
		{name: "another period", change: func(o *Options) { o.Reports.Period = 24 * time.Hour }, err: ErrParameters, text: []string{"there 604800 s, here 86400 s"}},
		{name: "another count period", change: func(o *Options) { o.Counts.Period = time.Hour }, err: ErrParameters, text: []string{"counts generation", "there 86400 s, here 3600 s"}},
		{name: "counts of another size", change: func(o *Options) { o.Counts.Capacity *= 100 }, before: func(t *testing.T, db *DB) { mustCount(t, db, 1, 1) },
			err: ErrParameters, text: []string{"counts generation", "there ", " lines, here "}},
		{name: "full", change: func(*Options) {}, before: func(t *testing.T, db *DB) { fillOwn(t, db, spamFilter) }, err: ErrFull, text: []string{"spam generation"}},
		{name: "a clock that is behind", change: func(o *Options) { o.Now = func() time.Time { return c.Now().Add(-3 * 168 * time.Hour) } }, err: ErrClock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := o
			o.Dir, o.Now = t.TempDir(), c.Now
			tt.change(&o)
			db := openTest(t, o)
			if tt.before != nil {
				tt.before(t, db)
			}
			before := exportedCells(db)
			_, err := db.ImportOwn(bytes.NewReader(export))
			if !errors.Is(err, tt.err) {
				t.Fatalf("%v, want %v", err, tt.err)
			}
			for _, part := range tt.text {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if !reflect.DeepEqual(exportedCells(db), before) || len(db.NeverList()) > 0 {
				t.Error("something was joined")
			}
		})
	}
}

// Generations that are over here are left out, and those of another setting of before
// are taken as they are.
func TestImportOfOtherTimes(t *testing.T) {
	c := newClock()
	before := alone(livedOptions(t.TempDir(), "mx1"))
	before.Now = c.Now
	before.Reports.Capacity = 400
	a := openTest(t, before)
	mustReport(t, a, 1)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c.add(168 * time.Hour)
	now := before
	now.Reports.Capacity = 100
	a = openTest(t, now)
	mustReport(t, a, 2)
	export := exported(t, a)
	now.Dir = t.TempDir()
	b := openTest(t, now)
	mustImport(t, b, export)
	listed(t, b, 1, true)
	listed(t, b, 2, true)
	c.add(4 * 168 * time.Hour)
	now.Dir = t.TempDir()
	late := openTest(t, now)
	if in := mustImport(t, late, export); in.Aged != 1 || in.Filters != 1 {
		t.Errorf("imported %+v", in)
	}
	listed(t, late, 1, false)
	listed(t, late, 2, true)
	if _, err := os.Stat(ownPath(now.Dir, target{spamFilter, b.view.Load().reports[1].num})); err == nil {
		t.Error("a generation that is over is on disk")
	}
}
