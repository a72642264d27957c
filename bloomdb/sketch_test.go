package bloomdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// wordy returns message number n with a sketch of some words. Each word is a feature.
func wordy(n int, words ...int) signature.Set {
	set := bloomdbtest.Message(n)
	s := signature.Sketch{Kind: signature.KindSketch}
	for pos, w := range words {
		s.Anchors = append(s.Anchors, signature.Feature{Hash: filter.Mix(uint64(2*w + 1)), Pos: uint32(pos)})
		s.Keys = append(s.Keys, signature.Feature{Hash: filter.Mix(uint64(2*w + 2)), Pos: uint32(pos)})
	}
	set.Sketches = []signature.Sketch{s}
	return set
}

// words returns n words that begin with a number.
func words(from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = from + i
	}
	return list
}

func mustReportSet(t testing.TB, db *bloomdb.DB, set signature.Set) {
	t.Helper()
	testenv.Check(t, db.Report(set, layout.ClassOther))
}

// A near-duplicate of a reported message is listed. A message with a third of its words in
// common, or none, is not. An exact match is shown before the sketch.
func TestSketchLists(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	mustReportSet(t, db, wordy(1, words(0, 60)...))
	near := append(words(0, 50), words(1000, 10)...)
	e := db.Judge(wordy(2, near...))
	if !e.Listed || len(e.Matches) != 1 || e.Matches[0].Signature.Kind != signature.KindSketch || e.Sites != 1 {
		t.Fatalf("near-duplicate: %+v", e)
	}
	if m := e.Matches[0]; m.Found < m.Need || m.Need < 1 || m.Keys < m.Found || !strings.HasPrefix(m.Signature.ID(), "sketch:") {
		t.Errorf("match %+v", m)
	}
	padded := append(append(words(5000, 200), words(0, 60)...), words(7000, 200)...)
	if !db.Judge(wordy(2, padded...)).Listed {
		t.Error("the same words within another text are not listed")
	}
	if e := db.Judge(wordy(2, words(10_000, 60)...)); e.Listed || len(e.Weak) > 0 {
		t.Errorf("other words: %+v", e)
	}
	if e := db.Judge(wordy(1, words(0, 60)...)); len(e.Matches) != 3 || e.Matches[2].Signature.Kind != signature.KindSketch {
		t.Errorf("the message itself: %+v", e.Matches)
	}
	if e := db.Judge(bloomdbtest.Message(2)); e.Listed {
		t.Error("a message without a sketch is listed")
	}
}

func TestSketchRevoked(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	clock := bloomdbtest.NewClock()
	o.Now = clock.Now
	db := bloomdbtest.Open(t, o)
	reported, near := wordy(1, words(0, 60)...), wordy(2, append(words(0, 55), words(1000, 5)...)...)
	mustReportSet(t, db, reported)
	testenv.Check(t, db.Revoke(near))
	e := db.Judge(near)
	if e.Listed || len(e.Matches) != 1 || !e.Matches[0].Revoked || len(e.Weak) > 0 {
		t.Errorf("the revoked one: %+v", e)
	}
	third := wordy(3, append(words(0, 57), words(2000, 3)...)...)
	if db.Judge(third).Listed {
		t.Error("another near-duplicate is still listed")
	}
	e = db.Judge(reported)
	if !e.Listed || e.Matches[0].Signature.Kind != signature.KindBody || !e.Matches[2].Revoked {
		t.Errorf("the exact listing of another message: %+v", e)
	}
	clock.Add(168 * time.Hour)
	mustReportSet(t, db, reported)
	if !db.Judge(near).Listed {
		t.Error("reported again in the next period, it is not listed")
	}
	near.Sketches = nil
	testenv.Check(t, db.Revoke(near))
	near = wordy(2, append(words(0, 55), words(1000, 5)...)...)
	if db.Judge(near).Listed {
		t.Error("still listed after its exact text was revoked")
	}
	if !db.Judge(third).Listed {
		t.Error("an exact revocation cleared another message")
	}
}

// Further reports of a message store nothing more.
func TestSketchReportedTwice(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	set := wordy(1, words(0, 200)...)
	mustReportSet(t, db, set)
	own := reports(db)[0].Sketches.Own
	ones := own.Ones()
	if most := int64(signature.StoredAnchors * (layout.AnchorCopies + 20) * 4); ones > most || ones < most/2 {
		t.Errorf("a report sets %d bits, at most %d", ones, most)
	}
	mustReportSet(t, db, set)
	if own.Ones() != ones {
		t.Errorf("%d bits, %d after the second report", ones, own.Ones())
	}
	mustReportSet(t, db, wordy(2, append(words(0, 150), words(900, 50)...)...))
	if n := own.Ones() - ones; n < ones/2 {
		t.Errorf("a near-duplicate sets %d further bits: it shares an anchor", n)
	}
}

// When sketches are disabled, none are kept, read or sent. When they are enabled again, they
// begin empty.
func TestSketchesSwitched(t *testing.T) {
	on := bloomdbtest.Options(t.TempDir(), "mx1")
	off := on
	off.Reports.NoSketches = true
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	db := bloomdbtest.Open(t, on)
	mustReportSet(t, db, wordy(1, words(0, 60)...))
	mustReportSet(t, b, wordy(2, words(1000, 60)...))
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, b)...)
	if !db.Judge(wordy(3, words(1000, 60)...)).Listed {
		t.Error("the other site's report was not applied")
	}
	testenv.Check(t, db.Save())
	mustReportSet(t, db, wordy(4, words(2000, 60)...)) // only in the journal
	crash(t, db)

	db = bloomdbtest.Open(t, off)
	for from := 0; from < 3000; from += 1000 {
		if db.Judge(wordy(9, words(from, 60)...)).Listed {
			t.Errorf("words from %d: listed by a sketch", from)
		}
	}
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("the exact listing is lost")
	}
	mustReportSet(t, b, wordy(5, words(3000, 60)...))
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, b)...)
	if !db.Judge(bloomdbtest.Message(5)).Listed {
		t.Error("the other site's exact listing was not applied")
	}
	testenv.Check(t, db.Close())
	if names, _ := filepath.Glob(filepath.Join(on.Dir, "sketches-*")); len(names) > 0 {
		t.Errorf("%v are left", names)
	}

	db = bloomdbtest.Open(t, on)
	mustReportSet(t, db, wordy(6, words(0, 60)...))
	if !db.Judge(wordy(9, words(0, 60)...)).Listed {
		t.Error("enabled again, a report is not listed")
	}
}

// A report's sketch is on disk with it.
func TestSketchSurvivesCrash(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	mustReportSet(t, db, wordy(1, words(0, 60)...))
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	if !db.Judge(wordy(2, words(0, 60)...)).Listed {
		t.Error("lost in a crash")
	}
	testenv.Check(t, db.Close())
	if !bloomdbtest.Open(t, o).Judge(wordy(2, words(0, 60)...)).Listed {
		t.Error("lost in a snapshot")
	}
}

// makeLarger creates this period's own filter of a kind, two lines larger than configured.
func makeLarger(t *testing.T, db *bloomdb.DB, kind layout.Kind) {
	t.Helper()
	ks := db.Keyspace()
	tg := layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
	shape := ks.Store.ShapeFor(tg)
	shape.Lines += 2
	if _, err := ks.Store.OwnBits(tg, shape); err != nil {
		t.Fatal(err)
	}
}

// A delta with sketches of another size is rejected with an error that names them. Other deltas
// are applied.
func TestSketchParameters(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	o := bloomdbtest.Options(t.TempDir(), "b")
	b := bloomdbtest.Open(t, o)
	makeLarger(t, b, layout.SketchFilter)
	mustReportSet(t, b, wordy(1, words(0, 60)...))
	refused := 0
	for _, d := range bloomdbtest.Drain(t, b) {
		if err := a.Apply(d.Data, peers.Skipped); err != nil {
			if refused++; !errors.Is(err, layout.ErrParameters) || !strings.Contains(err.Error(), "sketches generation") {
				t.Error(err)
			}
		}
	}
	if refused != 1 || !a.Judge(bloomdbtest.Message(1)).Listed {
		t.Errorf("%d deltas refused; exact listing %v", refused, a.Judge(bloomdbtest.Message(1)).Listed)
	}
}

// A full sketch filter stores no more sketches, and rejects no report.
func TestSketchFilterFull(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports.Capacity = 20
	db := bloomdbtest.Open(t, o)
	for n := range 5 {
		mustReportSet(t, db, wordy(n, words(1000*n, 60)...))
	}
	own := reports(db)[0].Sketches.Own
	for n, limit := uint64(0), bloomdbtest.SettingsOf(db).FillLimit(layout.SketchFilter, own.Shape()); own.Ones() <= limit; n++ {
		own.Set(keyring.Stretch(n))
	}
	ones := own.Ones()
	mustReportSet(t, db, wordy(9, words(9000, 60)...))
	if own.Ones() != ones || !db.Judge(bloomdbtest.Message(9)).Listed {
		t.Errorf("%d bits, before %d; exact listing %v", own.Ones(), ones, db.Judge(bloomdbtest.Message(9)).Listed)
	}
	if db.Judge(wordy(99, words(9000, 60)...)).Listed {
		t.Error("the sketch is listed")
	}
	if !db.Judge(wordy(99, words(0, 60)...)).Listed {
		t.Error("an earlier sketch is no longer listed")
	}
}

// Data of a newer version is rejected as newer.
func TestNewerFilterKind(t *testing.T) {
	dir := filled(t, true)
	path := files(t, dir, "spam-*.snapshot")[0]
	var file strings.Builder
	s := snapshot.File{Origin: layout.Origin{Site: "mx1", Epoch: 2}, Sections: []snapshot.Section{{Target: layout.Target{Kind: 200, Gen: 1}, Period: 1, Shape: layout.BitsShape(filter.BitsShape{Lines: 2, K: 8})}}}
	keyID := bloomdbtest.Ring.KeyID
	s.Sections[0].Block = nil
	s.Sections[0].Shape = layout.BitsShape(filter.BitsShape{K: 8})
	testenv.Check(t, s.Encode(&file, keyID))
	testenv.Check(t, os.WriteFile(path, []byte(file.String()), 0o600))
	_, err := bloomdbtest.TryOpen(small(dir))
	if err == nil || !strings.Contains(err.Error(), "filter kind 200 is unknown to this program: made by a newer version") {
		t.Error(err)
	}
}

// The documented memory and errors at the default sizes.
func TestSketchSizes(t *testing.T) {
	o := bloomdb.Options{Dir: "x", Site: "mx1"}
	s := bloomdbtest.Settings(o).SketchShape()
	full := bloomdbtest.Settings(o).SketchEntriesPerGeneration()
	planned := full / layout.Unevenness
	const revoked = 1 + 1.0/layout.RevokedShare
	for _, tc := range []struct {
		what      string
		got, most float64
	}{
		{"bytes a reported message", float64(s.Bytes()) * float64(o.Reports.Keep) / float64(o.Reports.Capacity), 151.2},
		{"error of a full generation", s.Error(full), 0.03},
		{"error at the capacity", s.Error(planned), 0.0153},
		{"error at the capacity, an eighth revoked", s.Error(planned * revoked), 0.022},
		{"error a mail at the capacity, an eighth revoked", 10 * sketch.MatchError(s.Error(planned*revoked)), 9e-9},
		{"error a mail by its page, at the capacity, an eighth revoked", 10 * sketch.ShapeError(s.Error(planned*revoked)), 7.2e-8},
		{"error a mail, all full", 10 * sketch.MatchError(s.Error(full)), 3.1e-7},
	} {
		if tc.got > tc.most || tc.got < tc.most*0.85 {
			t.Errorf("%s: %.4g, documented as %.4g", tc.what, tc.got, tc.most)
		}
	}
}

// A retouched message is not listed by its sketch, its near-duplicates are, and a report of it
// lists it again.
func TestSketchRetouched(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	set, near := wordy(1, words(0, 60)...), wordy(2, append(words(0, 55), words(1000, 5)...)...)
	mustReportSet(t, db, set)
	if _, err := db.Retouch(set); err != nil {
		t.Fatal(err)
	}
	if e := db.Judge(set); e.Listed || len(e.Weak) > 0 {
		t.Errorf("retouched: %+v", e)
	}
	if !db.Judge(near).Listed {
		t.Error("a near-duplicate is not listed")
	}
	mustReportSet(t, db, set)
	if e := db.Judge(set); !e.Listed || len(e.Matches) != 3 {
		t.Errorf("reported again: %+v", e)
	}
}
