package bloomdb_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/status"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func classOptions(dir, site string) bloomdb.Options {
	o := bloomdbtest.Options(dir, site)
	o.Reports.Classes = true
	return o
}

func mustReportAs(t testing.TB, db *bloomdb.DB, n int, c layout.Class) {
	t.Helper()
	if err := db.Report(bloomdbtest.Message(n), c); err != nil {
		t.Fatalf("report %d: %v", n, err)
	}
}

func wantClass(t testing.TB, db *bloomdb.DB, n int, want layout.Class) {
	t.Helper()
	e := db.Judge(bloomdbtest.Message(n))
	if e.Class != want || len(e.Matches) > 0 && e.Matches[0].Class != want {
		t.Errorf("site %s, message %d: class %s, matches %v, want %s", bloomdbtest.OptionsOf(db).Site, n, e.Class, e.Matches, want)
	}
}

// classFiles returns the snapshots of own class filters.
func classFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "classes-*.snapshot"))
	testenv.Check(t, err)
	return names
}

func TestClassNames(t *testing.T) {
	for _, c := range layout.Classes() {
		text, _ := c.MarshalText()
		var back layout.Class
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%s is read as %s, %v", c, back, err)
		}
	}
	if c, err := layout.ParseClass(""); c != layout.ClassOther || err != nil {
		t.Errorf("an empty name is read as %s, %v", c, err)
	}
	if _, err := layout.ParseClass("Phish"); err == nil || !strings.Contains(err.Error(), "want one of [phish scam malware bulk other]") {
		t.Error(err)
	}
	for _, tc := range [][3]layout.Class{
		{layout.ClassOther, layout.ClassOther, layout.ClassOther}, {layout.ClassOther, layout.ClassBulk, layout.ClassBulk}, {layout.ClassBulk, layout.ClassOther, layout.ClassBulk},
		{layout.ClassScam, layout.ClassPhish, layout.ClassPhish}, {layout.ClassMalware, layout.ClassPhish, layout.ClassMalware}, {layout.ClassScam, layout.ClassBulk, layout.ClassScam},
	} {
		if got := layout.Gravest(tc[0], tc[1]); got != tc[2] {
			t.Errorf("gravest of %s and %s is %s", tc[0], tc[1], got)
		}
	}
}

// A class is in the journal with its report: a crash before any snapshot loses neither.
func TestClassesSurviveCrash(t *testing.T) {
	o := classOptions(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	mustReportAs(t, db, 1, layout.ClassPhish)
	mustReportAs(t, db, 2, layout.ClassOther)
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	wantClass(t, db, 1, layout.ClassPhish)
	wantClass(t, db, 2, layout.ClassOther)
	testenv.Check(t, db.Close())
	wantClass(t, bloomdbtest.Open(t, o), 1, layout.ClassPhish)
}

// When classes are disabled, none are kept, read or sent. When they are enabled again, they
// begin empty. No listing depends on them.
func TestClassesSwitched(t *testing.T) {
	on := classOptions(t.TempDir(), "mx1")
	off := on
	off.Reports.Classes = false
	b := bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	db := bloomdbtest.Open(t, on)
	mustReportAs(t, db, 1, layout.ClassPhish)
	mustReportAs(t, b, 2, layout.ClassScam)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, b)...)
	wantClass(t, db, 2, layout.ClassScam)
	testenv.Check(t, db.Save())
	mustReportAs(t, db, 3, layout.ClassMalware) // only in the journal
	crash(t, db)

	db = bloomdbtest.Open(t, off)
	for n := 1; n <= 3; n++ {
		if !db.Judge(bloomdbtest.Message(n)).Listed {
			t.Errorf("message %d is no longer listed", n)
		}
		wantClass(t, db, n, layout.ClassOther)
	}
	mustReportAs(t, db, 4, layout.ClassBulk)
	bloomdbtest.Drain(t, db) // otherwise the journal keeps the records for other sites, and replays them
	testenv.Check(t, db.Close())
	if left := classFiles(t, on.Dir); left != nil {
		t.Errorf("%v are left", left)
	}

	db = bloomdbtest.Open(t, on)
	for n := 1; n <= 4; n++ {
		if !db.Judge(bloomdbtest.Message(n)).Listed {
			t.Errorf("message %d is no longer listed", n)
		}
		wantClass(t, db, n, layout.ClassOther)
	}
	mustReportAs(t, db, 1, layout.ClassPhish)
	wantClass(t, db, 1, layout.ClassPhish)
}

// A damaged class filter is set aside, because its loss affects only class names. If classes are
// disabled, it is not read. Mail can be judged in both cases.
func TestDamagedClasses(t *testing.T) {
	o := classOptions(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	mustReportAs(t, db, 1, layout.ClassPhish)
	testenv.Check(t, db.Close())
	path := classFiles(t, o.Dir)[0]
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	data[len(data)/2] ^= 1
	testenv.Check(t, os.WriteFile(path, data, 0o600))
	mustSetAside(t, o, path)
	mustSetAside(t, o, path) // it is missing now
	testenv.Check(t, os.WriteFile(path, data, 0o600))
	o.Reports.Classes = false
	db, err = bloomdbtest.TryOpen(o)
	if err != nil {
		t.Fatalf("classes off: %v", err)
	}
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("the listing is lost")
	}
	testenv.Check(t, db.Close())
	bloomdbtest.Open(t, o)
}

// A site with classes disabled applies the reports of a site with classes enabled, and counts
// nothing as missing. In the other direction there are no classes.
func TestClassesIgnoredWhereOff(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	mustReportAs(t, b, 1, layout.ClassPhish)
	deltas := bloomdbtest.Drain(t, b)
	bloomdbtest.Apply(t, a, deltas...)
	if !a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("the report was not applied")
	}
	wantClass(t, a, 1, layout.ClassOther)
	s := a.Status()
	if _, seq := a.Cursor("b"); seq != deltas[len(deltas)-1].Seq || s.Sites[1].Gaps != 0 {
		t.Errorf("at %d of %d, %d gaps", seq, deltas[len(deltas)-1].Seq, s.Sites[1].Gaps)
	}
	if slices.ContainsFunc(s.Filters, func(f status.Filter) bool { return f.Kind == "classes" }) {
		t.Errorf("class filters are held: %+v", s.Filters)
	}
	mustReportAs(t, a, 2, layout.ClassScam)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if !b.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("the report was not applied")
	}
	wantClass(t, b, 2, layout.ClassOther)
}

// logTo collects warnings.
func logTo(o *bloomdb.Options) *bytes.Buffer {
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return &log
}

// Classes that cannot be joined do not affect reports, and cause one line in the log.
func TestClassesOfOtherParameters(t *testing.T) {
	o := classOptions(t.TempDir(), "a")
	log := logTo(&o)
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	makeLarger(t, b, layout.ClassFilter)
	for n := range 3 {
		mustReportAs(t, b, n, layout.ClassPhish)
		bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
		if !a.Judge(bloomdbtest.Message(n)).Listed {
			t.Errorf("message %d is not listed", n)
		}
		wantClass(t, a, n, layout.ClassOther)
	}
	here := bloomdbtest.SettingsOf(a).ClassShape()
	there := here
	there.Lines += 2
	both := fmt.Sprintf("there %v, here %v", there, here)
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "site=b") || !strings.Contains(text, both) {
		t.Errorf("log %q, want one line with %q", text, both)
	}
}

// A site's class for a message that it did not report is ignored.
func TestClassWithoutReport(t *testing.T) {
	a, b := bloomdbtest.Open(t, classOptions(t.TempDir(), "a")), bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	mustReportAs(t, a, 1, layout.ClassScam)
	mustReportAs(t, b, 1, layout.ClassMalware)
	for _, d := range bloomdbtest.Drain(t, b) { // the record with the spam bits gets lost
		if got, err := sealer(b).DecodeDelta(d.Data); err != nil || got.Sections[0].Target.Kind == layout.SpamFilter {
			continue
		}
		testenv.Check(t, a.Apply(d.Data, peers.Skipped))
	}
	if g := reports(a)[0]; g.Listing(layout.ClassFilter).Others.Ones() == 0 {
		t.Fatal("nothing was applied")
	}
	wantClass(t, a, 1, layout.ClassScam)
}

// A report to a full class filter loses its class, and is accepted.
func TestClassesFull(t *testing.T) {
	o := classOptions(t.TempDir(), "mx1")
	o.Reports.Capacity = 400 // 400 signatures in a generation
	log := logTo(&o)
	db := bloomdbtest.Open(t, o)
	lost := 0
	for n := range 150 {
		for _, c := range []layout.Class{layout.ClassBulk, layout.ClassScam, layout.ClassPhish, layout.ClassMalware} {
			mustReportAs(t, db, n, c)
		}
		if db.Judge(bloomdbtest.Message(n)).Class != layout.ClassMalware {
			lost++
		}
	}
	if lost < 50 || lost > 110 { // room for 50 messages of two signatures under four classes
		t.Errorf("%d classes were not kept", lost)
	}
	if text := log.String(); strings.Count(text, "without their class") != 1 {
		t.Errorf("log %q", text)
	}
}

// A wrong class appears as often as ClassError predicts: in a full filter, with four lookups for
// each listing.
func TestWrongLabels(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	db := bloomdbtest.Open(t, classOptions(t.TempDir(), "mx1"))
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(kind layout.Kind, n int, keys func() filter.Hash) {
		own := ownBits(t, db, current(db, kind))
		for range n {
			own.Set(keys())
		}
	}
	fill(layout.ClassFilter, int(bloomdbtest.SettingsOf(db).KeysPerGeneration()), func() filter.Hash { return randomHash(r) })
	const listed = 50_000
	var sets []signature.Set
	fill(layout.SpamFilter, listed, func() filter.Hash {
		body := bloomdbtest.Message(len(sets)).Signatures[:1]
		sets = append(sets, signature.Set{Signatures: body})
		return bloomdbtest.Ring.ReportHash(body[0])
	})
	wrong := 0.0
	for n, set := range sets {
		e := db.Judge(set)
		if len(e.Matches) != 1 {
			t.Fatalf("message %d: %+v", n, e)
		}
		if e.Matches[0].Class.Named() {
			wrong++
		}
	}
	// The fill of the filter varies, too: by a tenth of the mean.
	want := listed * layout.NamedClasses * layout.ClassError
	if off := math.Abs(wrong - want); off > 4*math.Sqrt(want)+want/10 {
		t.Errorf("%g of %d listings have a wrong label, want %g", wrong, listed, want)
	}
}

// A reader that finds a listing finds its class, also while the report is being shown.
func TestClassComesWithListing(t *testing.T) {
	db := bloomdbtest.Open(t, classOptions(t.TempDir(), "mx1"))
	const messages = 100
	var wg sync.WaitGroup
	var reported atomic.Bool
	wg.Go(func() {
		defer reported.Store(true)
		for n := range messages {
			if err := db.Report(bloomdbtest.Message(n), layout.ClassPhish); err != nil {
				t.Error(err)
			}
		}
	})
	for n := range messages {
		e := db.Judge(bloomdbtest.Message(n))
		for last := false; !e.Listed && !last; e = db.Judge(bloomdbtest.Message(n)) {
			last = reported.Load()
			runtime.Gosched()
		}
		if !e.Listed || e.Class != layout.ClassPhish {
			t.Errorf("message %d: listed %v as %s", n, e.Listed, e.Class)
		}
	}
	wg.Wait()
}

// If the stream was lost, the snapshot contains everything that has not expired, including
// classes.
func TestClassesRepublished(t *testing.T) {
	b := bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	mustReportAs(t, b, 1, layout.ClassPhish)
	bloomdbtest.Drain(t, b)
	testenv.Check(t, b.Resume(0, 0))
	late := bloomdbtest.Open(t, classOptions(t.TempDir(), "late"))
	bloomdbtest.PublishSnapshot(t, b).Take(t, late)
	wantClass(t, late, 1, layout.ClassPhish)
}

func TestClassRecord(t *testing.T) {
	keys := make([]byte, 64)
	for name, tc := range map[string]struct {
		body []byte
		want string // in the error
	}{
		"good":          {append([]byte{4, 10, 0, byte(layout.ClassScam)}, keys...), ""},
		"no class":      {[]byte{4, 10, 0}, "no class"},
		"other":         {append([]byte{4, 10, 0, 0}, keys...), "no class, or an unknown one"},
		"unknown class": {append([]byte{4, 10, 0, 5}, keys...), "no class, or an unknown one"},
		"no keys":       {[]byte{4, 10, 0, 2}, "0 bytes of keys"},
		"half a key":    {append([]byte{4, 10, 0, 2}, keys[:40]...), "40 bytes of keys"},
	} {
		r, _, err := journal.DecodeRecord(tc.body)
		switch {
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v", name, err)
		case tc.want == "" && (err != nil || r.Class != layout.ClassScam || r.Target != layout.Target{Kind: layout.SpamFilter, Gen: 5} || len(r.Hashes) != 2):
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// A message retouched on this site has no class here. On a site that still lists it, it keeps
// its class.
func TestRetouchedClass(t *testing.T) {
	a, b := bloomdbtest.Open(t, classOptions(t.TempDir(), "a")), bloomdbtest.Open(t, classOptions(t.TempDir(), "b"))
	mustReportAs(t, a, 1, layout.ClassPhish)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	mustRetouch(t, a, 1)
	wantClass(t, a, 1, layout.ClassOther)
	wantClass(t, b, 1, layout.ClassPhish)
	mustReportAs(t, a, 1, layout.ClassScam) // which takes the retouch back
	wantClass(t, a, 1, layout.ClassPhish)
}
