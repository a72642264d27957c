package bloomdb_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

func mustRetouch(t testing.TB, db *bloomdb.DB, n int) keyspace.Retouching {
	t.Helper()
	r, err := db.Retouch(bloomdbtest.Message(n))
	if err != nil {
		t.Fatalf("retouch %d: %v", n, err)
	}
	return r
}

func TestRetouch(t *testing.T) {
	c := bloomdbtest.NewClock()
	options := func(site string) bloomdb.Options {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Now = c.Now
		return o
	}
	a, b := bloomdbtest.Open(t, options("a")), bloomdbtest.Open(t, options("b"))
	if r := mustRetouch(t, a, 1); len(r.Listings) != 0 || r.Loss != 0 {
		t.Errorf("an unlisted message: %+v", r)
	}
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Report(t, a, 2)
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	bloomdbtest.Drain(t, a)

	plan, err := a.PlanRetouch(bloomdbtest.Message(1))
	if err != nil || !a.Judge(bloomdbtest.Message(1)).Listed {
		t.Fatalf("the plan had an effect: %v", err)
	}
	if len(plan.Listings) != 4 || plan.Loss < 4 || plan.Loss > 4.2 || plan.LossOfOthers > 0.2 {
		t.Errorf("plan %+v, want two signatures in two generations", plan)
	}
	if plan.Listings[0].Signature != bloomdbtest.Message(1).Signatures[0] || plan.Listings[0].Generation != plan.Listings[1].Generation+1 {
		t.Errorf("order of %+v: want signature by signature, newest generation first", plan.Listings)
	}
	mustRetouch(t, a, 1)
	if a.Judge(bloomdbtest.Message(1)).Listed || !a.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("want message 1 retouched, and 2 listed as before")
	}
	if r := mustRetouch(t, a, 1); len(r.Listings) != 0 {
		t.Errorf("retouched twice: %+v", r)
	}
	if d := bloomdbtest.Drain(t, a); len(d) > 0 || !b.Judge(bloomdbtest.Message(1)).Listed {
		t.Errorf("%d deltas contain a retouch", len(d))
	}
	for _, trace := range a.Explain(bloomdbtest.Message(1)) {
		for _, trail := range trace.Spam {
			if !trail.Retouched {
				t.Errorf("not explained: %+v", trail)
			}
		}
	}
	if s := a.Status(); s.Filters[0].Masked != 2 || math.Abs(s.Filters[0].Lost-2) > 0.1 {
		t.Errorf("status %+v", s.Filters[0])
	}
	if keys := a.Retouched(); len(keys) != 4 || !keys[0].At.Equal(c.Now()) || keys[0].Generation != keys[3].Generation+1 ||
		!strings.Contains(bloomdbtest.Message(1).Signatures[0].ID()+bloomdbtest.Message(1).Signatures[1].ID(), keys[0].ID) {
		t.Errorf("list %+v", keys)
	}

	bloomdbtest.Report(t, b, 1) // again, in the same period
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	if a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("another site's report restored the listing")
	}
	bloomdbtest.Report(t, a, 1)
	if !a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("this site's own report has no effect")
	}
}

// A retouch affects the generations that list the message when it is made. Another site's
// report in a later generation lists the message.
func TestRetouchHoldsInItsGenerations(t *testing.T) {
	c := bloomdbtest.NewClock()
	options := func(site string) bloomdb.Options {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Now = c.Now
		return o
	}
	a, b := bloomdbtest.Open(t, options("a")), bloomdbtest.Open(t, options("b"))
	bloomdbtest.Report(t, b, 1)
	c.Add(168 * time.Hour)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	if r := mustRetouch(t, a, 1); len(r.Listings) != 2 || a.Judge(bloomdbtest.Message(1)).Listed {
		t.Fatalf("want two signatures retouched in the older generation: %+v", r)
	}
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	if !a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a report in a generation that did not list the message has no effect")
	}
	if r := mustRetouch(t, a, 1); len(r.Listings) != 2 || a.Judge(bloomdbtest.Message(1)).Listed {
		t.Errorf("retouched there, too: %+v", r)
	}
}

func TestRetouchErrors(t *testing.T) {
	db := bloomdbtest.Open(t, breakable(bloomdbtest.Options(t.TempDir(), "mx1")))
	if _, err := db.Retouch(signature.Set{}); !errors.Is(err, keyspace.ErrNothing) {
		t.Errorf("no signatures: %v", err)
	}
	if _, err := db.PlanRetouch(signature.Set{Signatures: make([]signature.Signature, journal.MaxKeys+1)}); err == nil {
		t.Error("a plan of too many signatures")
	}
	bloomdbtest.Report(t, db, 1)
	mend := breakDisk(t, db)
	if _, err := db.Retouch(bloomdbtest.Message(1)); err == nil {
		t.Error("acknowledged without a disk")
	}
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("retouched though the disk failed")
	}
	mend()

	// The limit applies to the keys of one generation.
	m := maskOf(t, db)
	keys := make([]journal.RetouchedKey, mask.MaxKeys-1)
	for i := range keys {
		keys[i] = journal.RetouchedKey{Hash: filter.Hash{uint64(i) << 40, 1, 2, 3}, Name: layout.ShortID{Kind: signature.KindText}}
	}
	m.Set(keys)
	if _, err := db.Retouch(bloomdbtest.Message(1)); !errors.Is(err, layout.ErrFull) || !strings.Contains(err.Error(), "65535 signatures are retouched, must be at most 65536") {
		t.Errorf("two more than fit: %v", err)
	}
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("half of a message was retouched")
	}
	if err := db.Save(); err != nil { // a full mask has a file, and that can be read
		t.Fatal(err)
	}
}

// A report with the same bits as a retouched key undoes the retouch: no bit would hide only one
// of them.
func TestRetouchOfTheSameBits(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	bloomdbtest.Report(t, db, 1)
	mustRetouch(t, db, 1)
	m := maskOf(t, db)
	alike := m.All()[0].Hash
	alike[2] ^= 1 << 63 // above the bits that determine its positions
	records, release := db.Keyspace().Store.Unmask(current(db, layout.SpamFilter), []filter.Hash{alike}, math.MaxInt64)
	release()
	if len(records) != 1 || len(records[0].Retouched) != 1 || records[0].Retouched[0].Bit != journal.TakenBack {
		t.Errorf("records %+v", records)
	}
}

// An own report of a message that needs a masked bit gets that bit. A key that rested on it
// gets another one, also after a crash.
func TestReportThroughMask(t *testing.T) {
	o := crowded(t.TempDir(), "mx1", bloomdbtest.NewClock())
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	mustRetouch(t, db, 1)
	rested := maskOf(t, db).Masked()
	for _, pos := range rested {
		n := 0
		for !slices.Contains(bloomdbtest.SettingsOf(db).SpamShape().Positions(bloomdbtest.Ring.ReportHash(oneKey(n).Signatures[0]), nil), pos) {
			n++
		}
		testenv.Check(t, db.Report(oneKey(n), layout.ClassOther))
		for _, when := range []string{"at once", "after a crash"} {
			m := maskOf(t, db)
			if !db.Judge(oneKey(n)).Listed || db.Judge(bloomdbtest.Message(1)).Listed {
				t.Errorf("%s: want the report listed, and the message still retouched", when)
			}
			if bits := m.Masked(); slices.Contains(bits, pos) || len(bits) != len(rested) || m.Check() != nil {
				t.Errorf("%s: masked %v, before %v: %v", when, bits, rested, m.Check())
			}
			crash(t, db)
			db = bloomdbtest.Open(t, o)
		}
	}
}

// maskOf returns the mask of the current generation.
func maskOf(t *testing.T, db *bloomdb.DB) *mask.Mask {
	t.Helper()
	m, err := db.Keyspace().Store.MaskOf(current(db, layout.SpamFilter))
	testenv.Check(t, err)
	return m
}

// retouchWorld is a generation with many keys that are set without the journal.
type retouchWorld struct {
	db   *bloomdb.DB
	keys []signature.Set
}

func newRetouchWorld(t *testing.T, n int) *retouchWorld {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Reports = layout.ReportOptions{Capacity: int64(n), KeysPerMessage: 1, Keep: 1, MaxErrorPerMail: 0.01}
	w := &retouchWorld{db: bloomdbtest.Open(t, o)}
	own := ownBits(t, w.db, current(w.db, layout.SpamFilter))
	for i := range n {
		set := oneKey(i)
		own.Set(bloomdbtest.Ring.ReportHash(set.Signatures[0]))
		w.keys = append(w.keys, set)
	}
	return w
}

func oneKey(n int) signature.Set {
	var s signature.Signature
	s.Kind = signature.KindText
	binary.BigEndian.PutUint64(s.Digest[:], uint64(n))
	return signature.Set{Signatures: []signature.Signature{s}}
}

func (w *retouchWorld) listed() (n int) {
	for _, set := range w.keys {
		if w.db.Judge(set).Listed {
			n++
		}
	}
	return n
}

// The expected loss is compared with the counted one: for messages that are listed only by the
// filter's error, and for reported messages. Counted losses overlap a little, and the estimate
// of a load has an error of up to 1.5 %.
func TestRetouchLoss(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const keys, retouches = 20_000, 150
	for _, reported := range []bool{false, true} {
		t.Run(fmt.Sprintf("reported %v", reported), func(t *testing.T) {
			w := newRetouchWorld(t, keys)
			before, predicted, done := w.listed(), 0.0, 0
			for n := keys; done < retouches; n++ {
				set := oneKey(n)
				if reported {
					set = w.keys[n%keys*7%keys]
				}
				if !w.db.Judge(set).Listed {
					continue
				}
				r, err := w.db.Retouch(set)
				testenv.Check(t, err)
				if predicted += r.Loss; reported {
					predicted += 1 + r.LossOfOthers - r.Loss
				}
				done++
			}
			lost := float64(before - w.listed())
			t.Logf("%d retouches: %.0f reported signatures lost, %.1f predicted", done, lost, predicted)
			if sigma := math.Sqrt(predicted - float64(done)); math.Abs(lost-predicted) > 3*sigma+0.025*predicted {
				t.Errorf("%.0f reported signatures lost, %.1f predicted, sigma %.1f", lost, predicted, sigma)
			}
			if s := w.db.Status().Filters[0]; s.Masked > retouches || math.Abs(s.Lost-lost) > 0.1*lost {
				t.Errorf("status: %d bits masked, %.1f lost; %.0f are", s.Masked, s.Lost, lost)
			}
		})
	}
}

func TestRetouchParallel(t *testing.T) {
	o := crowded(t.TempDir(), "mx1", bloomdbtest.NewClock())
	db := bloomdbtest.Open(t, o)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 15 {
				n := (w + i) % 5
				if err := db.Report(bloomdbtest.Message(n), layout.ClassOther); err != nil {
					t.Error(err)
				}
				if _, err := db.Retouch(bloomdbtest.Message(n)); err != nil {
					t.Error(err)
				}
				db.Judge(bloomdbtest.Message(i))
				db.Status()
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			if err := db.Save(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	before := db.Retouched()
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	if after := db.Retouched(); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("retouched before the crash: %v, after: %v", before, after)
	}
}

// A mask's file with any byte changed is not used.
func TestMaskDamage(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	mustRetouch(t, db, 1)
	testenv.Check(t, db.Close())
	path := mask.Files.Path(o.Dir, generationNow(o))
	good, err := os.ReadFile(path)
	testenv.Check(t, err)
	for at := range good {
		bad := append([]byte{}, good...)
		bad[at] ^= 4
		os.WriteFile(path, bad, 0o600)
		mustSetAside(t, o, path)
	}
	mustSetAside(t, o, path) // it is missing now
	os.WriteFile(path, good, 0o600)
	os.WriteFile(filepath.Join(o.Dir, ".spam-1.mask123"), good[:9], 0o600)
	if db = bloomdbtest.Open(t, o); db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("the retouch is lost")
	}
}

// A mask and its file are removed when the generation expires.
func TestMaskGoesWithItsGeneration(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	mustRetouch(t, db, 1)
	path := mask.Files.Path(o.Dir, bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, c.Now()))
	testenv.Check(t, db.Save())
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	c.Add(5 * 168 * time.Hour)
	if keys := db.Retouched(); len(keys) != 0 {
		t.Errorf("expired %+v is listed", keys)
	}
	for range layout.KeepExpired {
		db.Maintain()
	}
	testenv.Check(t, db.Save())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of an expired mask: %v", err)
	}
}

// A mask is used if the identity names it. A mask from before a crash that the identity does not
// name is restored from the journal. A mask from before another program used the folder is
// stale.
func TestMaskNotNamed(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Exchange = false // so that the journal goes with each snapshot
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	mustRetouch(t, db, 1)
	for _, s := range db.Keyspace().Store.MaskSnapshots(0) { // like Save, interrupted by a crash
		testenv.Check(t, folder.WriteSnapshot(s.Path, s.Write))
	}
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	if db.Judge(bloomdbtest.Message(1)).Listed || !db.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("a crash while the mask was written lost a retouch")
	}
	testenv.Check(t, db.Save())
	testenv.Check(t, db.Keyspace().Outbox.SetSnapshots(o.Dir, []string{snapshot.OwnPath(o.Dir, layout.Target{Kind: layout.SpamFilter, Gen: generationNow(o)})}, nil, 0, db.Now()))
	crash(t, db)
	db = bloomdbtest.Open(t, o)
	if !db.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a mask that the identity does not name hides a report")
	}
	testenv.Check(t, db.Save())
	if _, err := os.Stat(mask.Files.Path(o.Dir, generationNow(o))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mask's file: %v", err)
	}
}

func generationNow(full bloomdb.Options) int64 {
	return bloomdbtest.Settings(full).Generation(layout.SpamFilter, full.Now())
}
