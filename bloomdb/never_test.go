package bloomdb_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// with adds a signature of another kind to a message.
func with(set signature.Set, kind signature.Kind, content string) signature.Set {
	s := signature.Signature{Kind: kind, Digest: signature.Sum(kind, []byte(content))}
	set.Signatures = append(slices.Clone(set.Signatures), s)
	return set
}

// sketched adds a text sketch whose keys are the numbers from begin to end.
func sketched(set signature.Set, begin, end uint64) signature.Set {
	s := signature.Sketch{Kind: signature.KindSketch}
	for n := begin; n < end; n++ {
		s.Keys = append(s.Keys, signature.Feature{Hash: rand.New(rand.NewPCG(n, 1)).Uint64(), Pos: uint32(n)})
	}
	set.Sketches = append(slices.Clone(set.Sketches), s)
	return set
}

func mustNever(t *testing.T, db *bloomdb.DB, set signature.Set, note string) never.Declared {
	t.Helper()
	e, err := db.Never(set, note)
	if err != nil {
		t.Fatalf("never: %v", err)
	}
	return e
}

func TestNeverRefuses(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	if _, err := db.Never(signature.Set{}, ""); !errors.Is(err, keyspace.ErrNothing) {
		t.Errorf("no signatures: %v", err)
	}
	for _, note := range []string{strings.Repeat("n", 200+1), "two\nlines", "\xff", "\x1b[1m"} {
		if _, err := db.Never(bloomdbtest.Message(1), note); err == nil {
			t.Errorf("note %.20q is accepted", note)
		}
	}
	if got := db.NeverList(); len(got) != 0 {
		t.Errorf("refused, but listed: %v", got)
	}
}

// A message on the never-list is not listed, whether it was reported before or is reported by
// another site. It cannot be reported here.
func TestNeverSpares(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	other := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx2"))
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, other, 2)
	bloomdbtest.Count(t, db, 1, 3)
	mustNever(t, db, bloomdbtest.Message(1), "newsletter")
	mustNever(t, db, bloomdbtest.Message(2), "")
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
	for n := 1; n <= 2; n++ {
		e := db.Judge(bloomdbtest.Message(n))
		if e.Listed || !e.Never || len(e.Spared) != 2 || len(e.Matches) != 0 {
			t.Errorf("message %d: %+v", n, e)
		}
		if err := db.Report(bloomdbtest.Message(n), layout.ClassOther); !errors.Is(err, never.ErrNever) {
			t.Errorf("report of message %d: %v", n, err)
		}
	}
	if e := db.Judge(bloomdbtest.Message(1)); e.Count != 3 || e.Sites != 1 {
		t.Errorf("count %d of %d sites", e.Count, e.Sites)
	}
	bloomdbtest.Report(t, db, 3)
	if e := db.Judge(bloomdbtest.Message(3)); !e.Listed || e.Never {
		t.Errorf("another message: %+v", e)
	}
	if s := db.Status().Never; s.Entries != 2 || s.Spared == 0 {
		t.Errorf("status %+v", s)
	}
	if e := other.Judge(bloomdbtest.Message(2)); !e.Listed {
		t.Error("the other site has received the entry")
	}
	if err := db.Revoke(bloomdbtest.Message(1)); err != nil {
		t.Errorf("revoke: %v", err)
	}
}

// An attachment on the never-list is not listed in any mail. An attachment that the message on
// the list did not have can be, also beside the same text.
func TestNeverAttachments(t *testing.T) {
	terms := func(n int) signature.Set { return with(bloomdbtest.Message(n), signature.KindAttachment, "terms") }
	for _, tt := range []struct {
		name     string
		reported signature.Set // by another site
		judged   signature.Set
		listed   bool
	}{
		{"the declared message", terms(1), terms(1), false},
		{"its attachment in other mail", terms(9), terms(2), false},
		{"other mail with its attachment", terms(2), terms(2), true},
		{"another attachment beside its text", with(bloomdbtest.Message(9), signature.KindAttachment, "trojan"), with(bloomdbtest.Message(1), signature.KindAttachment, "trojan"), true},
	} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		other := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx2"))
		mustNever(t, db, terms(1), "")
		testenv.Check(t, other.Report(tt.reported, layout.ClassOther))
		bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
		if e := db.Judge(tt.judged); e.Listed != tt.listed {
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
}

// A report of other mail omits the parts that are on the never-list. A message that has only
// such parts is rejected.
func TestNeverReportLeavesPartsOut(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	mustNever(t, db, with(bloomdbtest.Message(1), signature.KindAttachment, "terms"), "")
	only := with(signature.Set{}, signature.KindAttachment, "terms")
	if err := db.Report(only, layout.ClassOther); !errors.Is(err, never.ErrNever) {
		t.Errorf("only the attachment: %v", err)
	}
	testenv.Check(t, db.Report(with(bloomdbtest.Message(2), signature.KindAttachment, "terms"), layout.ClassOther))
	if removed, err := db.RemoveNever(bloomdbtest.Message(1)); err != nil || len(removed) != 1 {
		t.Fatalf("%v, %v", removed, err)
	}
	if e := db.Judge(only); e.Listed || len(e.Spared) > 0 {
		t.Errorf("the attachment was reported all the same: %+v", e)
	}
	if e := db.Judge(bloomdbtest.Message(2)); !e.Listed {
		t.Error("the message around it was not reported")
	}
}

// The never-list covers near-duplicates that share half of their sketch with a message on it.
func TestNeverSketch(t *testing.T) {
	const size = 3000
	for _, tt := range []struct {
		name       string
		begin, end uint64
		never      bool
	}{
		{"the same text", 0, size, true},
		{"a tenth is other", size / 10, size + size/10, true},
		{"an extract", 1000, 1400, true},
		{"as much again below", 0, 2*size - 300, true},
		{"three times as much below", 0, 4 * size, false},
		{"one in ten", 0, 10 * size, false},
		{"unrelated", 5 * size, 6 * size, false},
		{"a line of it", 0, 8 / 2, false},
	} {
		db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
		e := mustNever(t, db, sketched(bloomdbtest.Message(1), 0, size), "")
		if e.Keys != never.MostKeys {
			t.Fatalf("%d keys are kept", e.Keys)
		}
		if got := db.Judge(sketched(bloomdbtest.Message(2), tt.begin, tt.end)); got.Never != tt.never {
			t.Errorf("%s: never %v", tt.name, got.Never)
		}
	}
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	mustNever(t, db, sketched(bloomdbtest.Message(1), 0, 40), "all its keys are kept")
	if !db.Judge(sketched(bloomdbtest.Message(2), 0, 80)).Never || db.Judge(sketched(bloomdbtest.Message(2), 0, 90)).Never {
		t.Error("a near-duplicate of a short text is not recognised by half of its keys")
	}
	if err := db.Report(sketched(bloomdbtest.Message(2), 0, 80), layout.ClassOther); !errors.Is(err, never.ErrNever) {
		t.Errorf("report of a near-duplicate: %v", err)
	}
}

// Spam that hides a text on the never-list contains that text in only one of its readings, and
// is not covered.
func TestNeverSketchOfAllReadings(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	mustNever(t, db, sketched(bloomdbtest.Message(1), 0, 100), "newsletter")
	if e := db.Judge(sketched(sketched(bloomdbtest.Message(2), 0, 100), 10, 110)); !e.Never {
		t.Errorf("both readings are the declared text: %+v", e)
	}
	if e := db.Judge(sketched(sketched(bloomdbtest.Message(3), 1000, 1100), 0, 100)); e.Never {
		t.Errorf("one reading is the declared text: %+v", e)
	}
}

// Added entries survive an immediate crash, and so do removed ones.
func TestNeverDurable(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	first := mustNever(t, db, sketched(bloomdbtest.Message(1), 0, 50), "one")
	mustNever(t, db, bloomdbtest.Message(2), "two")
	mustNever(t, db, bloomdbtest.Message(2), "two, again")
	crash(t, db)

	db = bloomdbtest.Open(t, o)
	list := db.NeverList()
	if len(list) != 2 || !slices.Contains(list, first) || !slices.ContainsFunc(list, func(e never.Declared) bool { return e.Note == "two, again" }) {
		t.Fatalf("list %+v", list)
	}
	if !db.Judge(bloomdbtest.Message(1)).Never || !db.Judge(sketched(bloomdbtest.Message(3), 0, 50)).Never {
		t.Error("forgotten")
	}
	if removed, err := db.RemoveNever(bloomdbtest.Message(3)); err != nil || len(removed) != 0 {
		t.Errorf("removal of an unknown entry: %v, %v", removed, err)
	}
	if removed, err := db.RemoveNeverID(first.ID); err != nil || len(removed) != 1 || removed[0] != first {
		t.Errorf("by id: %v, %v", removed, err)
	}
	if db.Judge(bloomdbtest.Message(1)).Never || db.Judge(sketched(bloomdbtest.Message(3), 0, 50)).Never || !db.Judge(bloomdbtest.Message(2)).Never {
		t.Error("another entry was removed")
	}
	crash(t, db)
	if list := bloomdbtest.Open(t, o).NeverList(); len(list) != 1 {
		t.Errorf("after the removal: %+v", list)
	}
}

func TestNeverFull(t *testing.T) {
	db := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1"))
	for n := range never.Most {
		var name layout.ShortID
		binary.BigEndian.PutUint64(name.ID[:], uint64(n))
		db.Keyspace().Never.Put(&never.Entry{Name: name})
	}
	if _, err := db.Never(bloomdbtest.Message(1), ""); !errors.Is(err, layout.ErrFull) {
		t.Errorf("one more than %d: %v", never.Most, err)
	}
}

// A file that is cut short, has a flipped bit, or belongs to another message is named and set
// aside.
func TestNeverDamaged(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	db := bloomdbtest.Open(t, o)
	mustNever(t, db, sketched(with(bloomdbtest.Message(1), signature.KindAttachment, "a"), 0, 20), "note")
	path := files(t, o.Dir, "never-*")[0]
	good, err := os.ReadFile(path)
	testenv.Check(t, err)
	bad := filepath.Join(t.TempDir(), filepath.Base(path))
	try := func(what string, data []byte) {
		t.Helper()
		testenv.Check(t, os.WriteFile(bad, data, 0o600))
		var damage *folder.DamageError
		if _, err := never.Read(bad, bloomdbtest.Ring.KeyID); !errors.As(err, &damage) || damage.Path != bad {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for at := range good {
		flipped := slices.Clone(good)
		flipped[at] ^= 1 << (at % 8)
		try(fmt.Sprintf("cut at %d", at), good[:at])
		try(fmt.Sprintf("flipped at %d", at), flipped)
	}
	try("longer", append(slices.Clone(good), 0))

	testenv.Check(t, db.Close())
	other := path[:len(path)-1] + "-"
	testenv.Check(t, os.Rename(path, other))
	mustSetAside(t, o, other)
}
