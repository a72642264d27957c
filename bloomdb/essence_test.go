package bloomdb_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// Reportable and Revocable return the errors that Report and Revoke would return, and change
// nothing.
func TestReportableReturnsTheErrorOfReport(t *testing.T) {
	withPart := with(bloomdbtest.Message(3), signature.KindAttachment, "terms")
	for _, tt := range []struct {
		name      string
		before    func(t *testing.T, db *bloomdb.DB)
		set       signature.Set
		err       error // of a report
		revokeErr error
		taken     int // signatures
	}{
		{name: "anything", set: bloomdbtest.Message(1), taken: 2},
		{name: "nothing", set: signature.Set{}, err: keyspace.ErrNothing, revokeErr: keyspace.ErrNothing},
		{name: "reported already", before: func(t *testing.T, db *bloomdb.DB) { bloomdbtest.Report(t, db, 1) }, set: bloomdbtest.Message(1), taken: 2},
		{name: "declared", before: func(t *testing.T, db *bloomdb.DB) { mustNever(t, db, bloomdbtest.Message(1), "") }, set: bloomdbtest.Message(1), err: never.ErrNever},
		{name: "a part is declared", before: func(t *testing.T, db *bloomdb.DB) {
			mustNever(t, db, with(signature.Set{}, signature.KindAttachment, "terms"), "")
		}, set: withPart, taken: 2},
		{name: "full of reports", before: func(t *testing.T, db *bloomdb.DB) { fillOwn(t, db, layout.SpamFilter) }, set: bloomdbtest.Message(1), err: layout.ErrFull},
		{name: "full of revocations", before: func(t *testing.T, db *bloomdb.DB) { fillOwn(t, db, layout.RevokedFilter) }, set: bloomdbtest.Message(1), revokeErr: layout.ErrFull, taken: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
			if tt.before != nil {
				tt.before(t, db)
			}
			evidence := db.Judge(tt.set)
			size := db.Status().Journal
			taken, err := db.Reportable(tt.set)
			if !errors.Is(err, tt.err) || err == nil && len(taken.Signatures) != tt.taken {
				t.Errorf("reportable: %d signatures, %v; want %d, %v", len(taken.Signatures), err, tt.taken, tt.err)
			}
			if err := db.Revocable(tt.set); !errors.Is(err, tt.revokeErr) {
				t.Errorf("revocable: %v, want %v", err, tt.revokeErr)
			}
			if db.Status().Journal != size || !reflect.DeepEqual(db.Judge(tt.set), evidence) {
				t.Error("Reportable or Revocable changed the database")
			}
			if err := db.Report(tt.set, layout.ClassOther); !errors.Is(err, tt.err) {
				t.Errorf("report: %v, want %v", err, tt.err)
			}
			if err := db.Revoke(tt.set); !errors.Is(err, tt.revokeErr) {
				t.Errorf("revoke: %v, want %v", err, tt.revokeErr)
			}
		})
	}
}

// fillOwn fills this site's filter of the current generation.
func fillOwn(t testing.TB, db *bloomdb.DB, kind layout.Kind) {
	t.Helper()
	own := ownBits(t, db, current(db, kind))
	for n := uint64(0); own.Ones() <= bloomdbtest.SettingsOf(db).FillLimit(kind, own.Shape()); n++ {
		own.Set(keyring.Stretch(n))
	}
}

// The previous key's database must have room as well.
func TestReportableChecksBothKeys(t *testing.T) {
	db := bloomdbtest.Open(t, rolledOver(bloomdbtest.Options(t.TempDir(), "mx1")))
	fillOwn(t, db.Previous(), layout.SpamFilter)
	fillOwn(t, db.Previous(), layout.RevokedFilter)
	if _, err := db.Reportable(bloomdbtest.Message(1)); !errors.Is(err, layout.ErrFull) {
		t.Errorf("reportable: %v", err)
	}
	if err := db.Revocable(bloomdbtest.Message(1)); !errors.Is(err, layout.ErrFull) {
		t.Errorf("revocable: %v", err)
	}
}

// While the disk has a fault, nothing is reportable. Afterwards it is again.
func TestReportableWhileDiskHasFault(t *testing.T) {
	db := bloomdbtest.Open(t, breakable(bloomdbtest.Options(t.TempDir(), "mx1")))
	bloomdbtest.Report(t, db, 1)
	mend := breakDisk(t, db)
	fault := db.Report(bloomdbtest.Message(2), layout.ClassOther)
	if _, err := db.Reportable(bloomdbtest.Message(2)); err == nil {
		t.Errorf("reportable with the fault %v", fault)
	}
	mend()
	if _, err := db.Reportable(bloomdbtest.Message(2)); err != nil {
		t.Error(err)
	}
	if err := db.Revocable(bloomdbtest.Message(2)); err != nil {
		t.Error(err)
	}
	testenv.Check(t, db.Close())
	if _, err := db.Reportable(bloomdbtest.Message(2)); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := db.Revocable(bloomdbtest.Message(2)); !errors.Is(err, layout.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// drawSketches draws sketches like those of messages: of a text of any length, perhaps only for
// lookups, and of images.
func drawSketches(t *rapid.T) []signature.Sketch {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(40, 1500)).Draw(t, "words")
	of := rapid.SampledFrom([]int{15, 60, 1 << 40}).Draw(t, "vocabulary")
	list := make([]int, n)
	for i := range list {
		list[i] = rng.IntN(of)
	}
	sketches := wordy(0, list...).Sketches
	sketches[0].AskOnly = rapid.Bool().Draw(t, "ask only")
	for range rapid.IntRange(0, 10).Draw(t, "images") {
		s := signature.Sketch{Kind: signature.KindImage}
		for view := range uint32(3) {
			for range 6 {
				s.Anchors = append(s.Anchors, signature.Feature{Hash: rng.Uint64(), Pos: view})
			}
			for range 20 {
				s.Keys = append(s.Keys, signature.Feature{Hash: rng.Uint64(), Pos: view})
			}
		}
		sketches = append(sketches, s)
	}
	return sketches
}

// A report or revocation of the essence writes the same records as one of the whole set, under
// each key.
func TestEssenceIsStoredTheSame(t *testing.T) {
	db := bloomdbtest.Open(t, rolledOver(bloomdbtest.Options(t.TempDir(), "mx1")))
	rapid.Check(t, func(t *rapid.T) {
		set := bloomdbtest.Message(rapid.IntRange(1, 1000).Draw(t, "message"))
		set.Domains = []string{"spam.example"}
		set.Sketches = drawSketches(t)
		if rapid.Bool().Draw(t, "of a part only") {
			set.Signatures = with(signature.Set{}, signature.KindAttachment, "terms").Signatures
		}
		essence := db.Essence(set)
		for _, d := range db.Keyspaces() {
			for kind, sketches := range map[layout.Kind]func(signature.Set) []signature.Sketch{
				layout.SpamFilter:    func(s signature.Set) []signature.Sketch { return s.Sketches },
				layout.RevokedFilter: func(s signature.Set) []signature.Sketch { return keyspace.EvenAskOnly(s.Sketches) },
			} {
				want, got := recordsOf(t, d, kind, set, sketches(set)), recordsOf(t, d, kind, essence, sketches(essence))
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s of the essence: %v, of the whole: %v", kind, got, want)
				}
			}
		}
		for i, s := range essence.Sketches {
			if got, want := db.Anchors(s), db.Anchors(set.Sketches[i]); !slices.Equal(got, want) {
				t.Fatalf("anchors %x of the essence, %x of the whole", got, want)
			}
		}
		if rapid.Bool().Draw(t, "report it") { // later ones then choose other anchors
			testenv.Check(t, db.Report(set, layout.ClassOther))
		}
	})
}

// recordsOf returns the records that a report or revocation would write.
func recordsOf(t *rapid.T, ks *keyspace.Keyspace, kind layout.Kind, set signature.Set, sketches []signature.Sketch) []journal.Record {
	t2 := layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
	r := journal.Record{Target: t2}
	for _, s := range set.Signatures {
		r.Hashes = append(r.Hashes, ks.Ring.ReportHash(s))
	}
	records, err := ks.Sketches.Records(kind, ks.Sketches.Reported(sketches), t2.Gen, layout.ReporterRungs)
	testenv.Check(t, err)
	return append([]journal.Record{r}, records...)
}

// A revocation of the essence ends the listing of a message that has only a sketch for lookups.
func TestEssenceRevokesLookupSketches(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	mustReportSet(t, db, db.Essence(wordy(1, words(0, 600)...)))
	near := wordy(2, words(0, 600)...)
	near.Signatures = with(signature.Set{}, signature.KindAttachment, "terms").Signatures
	near.Sketches[0].AskOnly = true
	if !db.Judge(near).Listed {
		t.Fatal("the near-duplicate of a reported essence is not listed")
	}
	testenv.Check(t, db.Revoke(db.Essence(near)))
	if db.Judge(near).Listed {
		t.Error("listed after its essence was revoked")
	}
}
