package bloomdb_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/status"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// deltasOf lets another site report and count messages, and returns its deltas.
func deltasOf(t testing.TB, site string, messages ...int) []wire.Delta {
	t.Helper()
	db := bloomdbtest.Open(t, classOptions(t.TempDir(), site))
	for _, n := range messages {
		testenv.Check(t, db.Report(wordy(n, words(100*n, 60)...), layout.ClassPhish))
		bloomdbtest.Count(t, db, n, uint32(10+n))
	}
	return bloomdbtest.Drain(t, db)
}

// sameAnswers compares all results of two databases for messages.
func sameAnswers(a, b *bloomdb.DB, messages ...int) error {
	for _, n := range messages {
		set := wordy(n, words(100*n, 60)...)
		near := wordy(n+1000, words(100*n, 59)...)
		if x, y := a.Judge(set), b.Judge(set); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("message %d is judged %+v, want %+v", n, x, y)
		}
		if x, y := a.Judge(near), b.Judge(near); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("near-duplicate of %d is judged %+v, want %+v", n, x, y)
		}
		if x, y := a.Explain(set), b.Explain(set); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("message %d is explained by %+v, want %+v", n, x, y)
		}
		if x, y := a.ExplainSketches(set), b.ExplainSketches(set); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("sketch of %d is explained by %+v, want %+v", n, x, y)
		}
	}
	return sameOthers(a, b)
}

// sameOthers compares all joined bits.
func sameOthers(a, b *bloomdb.DB) error {
	nums := make(map[int64]bool)
	for _, g := range slices.Concat(reports(a), reports(b)) {
		nums[g.Num] = true
	}
	for num := range nums {
		for _, kind := range layout.ReportKinds {
			x, y := othersOf(a, kind, num), othersOf(b, kind, num)
			shape := a.Keyspace().Store.ShapeFor(layout.Target{Kind: kind, Gen: num})
			for i := range filter.Blocks(shape.Size(), false) {
				if x, y := x(i), y(i); !reflect.DeepEqual(x, y) {
					return fmt.Errorf("%s generation %d, block %d: %d bits of others, want %d", kind, num, i, len(x), len(y))
				}
			}
		}
	}
	return nil
}

func othersOf(db *bloomdb.DB, kind layout.Kind, num int64) func(i uint64) []filter.Cell {
	g := db.Keyspace().Store.View.Load().Report(num)
	if g == nil || g.Listing(kind).Others == nil {
		return func(uint64) []filter.Cell { return nil }
	}
	return func(i uint64) []filter.Cell { return g.Listing(kind).Others.Block(i, nil) }
}

// openWith opens a database and applies deltas.
func openWith(t testing.TB, deltas ...[]wire.Delta) *bloomdb.DB {
	t.Helper()
	db := bloomdbtest.Open(t, classOptions(t.TempDir(), "a"))
	for _, d := range deltas {
		bloomdbtest.Apply(t, db, d...)
	}
	return db
}

// A muted site has no effect, through restarts and crashes. When it is unmuted, it has the same
// effect as before.
func TestMute(t *testing.T) {
	b, c := deltasOf(t, "b", 1, 2), deltasOf(t, "c", 2, 3)
	all, onlyC := openWith(t, b, c), openWith(t, c)
	db := openWith(t, b, c)
	testenv.Check(t, db.Save())
	expect := func(what string, want *bloomdb.DB) {
		t.Helper()
		if err := sameAnswers(db, want, 1, 2, 3, 4); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	expect("before", all)
	testenv.Check(t, db.Mute("b", true))
	expect("muted", onlyC)
	epoch, seq := db.Cursor("b")
	later := wire.Delta{Site: "b", Epoch: epoch, Seq: seq + 1}
	later.Data = sealer(db).EncodeDelta(later, seq, nil)
	if err := db.Apply(later.Data, peers.Next); !errors.Is(err, wire.ErrMuted) {
		t.Errorf("a muted site's record: %v", err)
	}
	if e, s := db.Cursor("b"); e != epoch || s != seq {
		t.Errorf("the cursor went to %d-%d", e, s)
	}
	crash(t, db)
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	expect("after a crash", onlyC)
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	expect("after a restart", onlyC)
	testenv.Check(t, db.Mute("b", false))
	expect("unmuted", all)
	crash(t, db)
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	expect("unmuted, after a crash", all)
	bloomdbtest.Apply(t, db, later)
}

// After Drop, verdicts, bits, status and files are as if the site were unknown, until it is
// unmuted. Its stream is then read from the beginning.
func TestDrop(t *testing.T) {
	b, c := deltasOf(t, "b", 1, 2, 5), deltasOf(t, "c", 2, 3)
	never, db := openWith(t, c), openWith(t, b, c)
	testenv.Check(t, errors.Join(db.Save(), never.Save()))
	testenv.Check(t, db.Drop("b"))
	expect := func(what string) {
		t.Helper()
		if err := sameAnswers(db, never, 1, 2, 3, 5); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := sameStatus(db, never); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if names, _ := filepath.Glob(filepath.Join(bloomdbtest.OptionsOf(db).Dir, "site-b-*")); len(names) > 0 {
			t.Errorf("%s: files %v are left", what, names)
		}
		if err := db.Apply(b[0].Data, peers.Next); !errors.Is(err, wire.ErrMuted) {
			t.Errorf("%s: a record of it: %v", what, err)
		}
	}
	expect("dropped")
	crash(t, db)
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	expect("after a crash")
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	expect("after a restart")
	testenv.Check(t, db.Mute("b", false))
	if epoch, seq := db.Cursor("b"); epoch != 0 || seq != 0 {
		t.Errorf("after it is unmuted its cursor is %d-%d", epoch, seq)
	}
	bloomdbtest.Apply(t, db, b...)
	if err := sameAnswers(db, openWith(t, b, c), 1, 2, 3, 5); err != nil {
		t.Errorf("read again: %v", err)
	}
	testenv.Check(t, db.Save())
	crash(t, db)
	if err := sameAnswers(bloomdbtest.Open(t, bloomdbtest.OptionsOf(db)), openWith(t, b, c), 1, 2, 3, 5); err != nil {
		t.Errorf("read again, after a crash: %v", err)
	}
}

// sameStatus compares the status, except this site's own epoch and the entry for a dropped
// site.
func sameStatus(a, b *bloomdb.DB) error {
	x, y := a.Status(), b.Status()
	spare, err := spareMemory(x, y)
	if err != nil || !reflect.DeepEqual(x.Filters, y.Filters) || memory(x)-spare != memory(y) || x.ErrorPerMail != y.ErrorPerMail {
		return fmt.Errorf("filters %+v, want %+v", x.Filters, y.Filters)
	}
	var sites []peers.Status
	for _, s := range x.Sites[1:] {
		if !s.Dropped {
			sites = append(sites, s)
		}
	}
	for i := range min(len(sites), len(y.Sites[1:])) { // the filters' spare memory is that of their parts
		spare -= sites[i].Memory - y.Sites[1+i].Memory
		sites[i].Memory = y.Sites[1+i].Memory
	}
	if spare != 0 && len(sites) == len(y.Sites[1:]) {
		return fmt.Errorf("the sites' parts take %d bytes more or less than the filters' sum", spare)
	}
	if len(sites)+len(y.Sites[1:]) > 0 && !reflect.DeepEqual(sites, y.Sites[1:]) {
		return fmt.Errorf("sites %+v, want %+v", sites, y.Sites[1:])
	}
	return nil
}

// spareMemory returns by how much more the filters of x take than those of y, and gives them the
// same memory: parts that grew by other deltas, or are from a snapshot, have other room to grow, and
// other cells that are not coded yet. The difference is less than an eighth.
func spareMemory(x, y status.Status) (spare int64, err error) {
	for i := range min(len(x.Filters), len(y.Filters)) {
		a, b := &x.Filters[i], &y.Filters[i]
		more := a.Memory - b.Memory
		if 8*max(more, -more) > max(a.Memory, b.Memory) {
			return 0, fmt.Errorf("%s of generation %d take %d bytes, want %d", a.Kind, a.Generation, a.Memory, b.Memory)
		}
		a.Memory, spare = b.Memory, spare+more
	}
	return spare, nil
}

// memory omits this site's own votes: a report of a message that another site has revoked is
// not a vote, and does not become one when that site is dropped.
func memory(s status.Status) int64 { return s.Memory - s.Votes.Memory }

// The site is killed after its identity records a drop, and before the file of the dropped site
// is removed.
func TestDropCutShort(t *testing.T) {
	b, c := deltasOf(t, "b", 1), deltasOf(t, "b-1", 2)
	db := openWith(t, b, c)
	testenv.Check(t, db.Save())
	name := filepath.Base(snapshot.SitePath(bloomdbtest.OptionsOf(db).Dir, layout.Origin{Site: "b", Epoch: b[0].Epoch}))
	data, err := os.ReadFile(filepath.Join(bloomdbtest.OptionsOf(db).Dir, name))
	testenv.Check(t, err)
	testenv.Check(t, db.Drop("b"))
	crash(t, db)
	testenv.Check(t, os.WriteFile(filepath.Join(bloomdbtest.OptionsOf(db).Dir, name), data, 0o600))
	db = bloomdbtest.Open(t, bloomdbtest.OptionsOf(db))
	if err := sameAnswers(db, openWith(t, c), 1, 2); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(bloomdbtest.OptionsOf(db).Dir, name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestSitesThatCannotBeMuted(t *testing.T) {
	db := openWith(t)
	for site, want := range map[string]string{"a": "this one", "": "site name", "../x": "site name"} {
		for what, err := range map[string]error{"mute": db.Mute(site, true), "unmute": db.Mute(site, false), "drop": db.Drop(site)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v", what, site, err)
			}
		}
	}
	if err := db.Mute("unheard", false); err != nil {
		t.Errorf("unmute a site that is not muted: %v", err)
	}
	if err := db.Mute("unheard", true); err != nil || !db.Muted("unheard") {
		t.Errorf("mute a site without data: %v", err)
	}
	if s := db.Status().Sites; len(s) != 2 || s[1].Site != "unheard" || !s[1].Muted || s[1].Dropped {
		t.Errorf("status %+v", s)
	}
}

// Muted sites in a damaged or foreign identity are ignored.
func TestDamagedMuted(t *testing.T) {
	for name, muted := range map[string][]folder.MutedSite{
		"itself":      {{Site: "a"}},
		"no name":     {{Site: "b/c"}},
		"no order":    {{Site: "c"}, {Site: "b"}},
		"named twice": {{Site: "b"}, {Site: "b"}},
	} {
		db := openWith(t)
		testenv.Check(t, db.Close())
		id, err := folder.ReadIdentity(bloomdbtest.OptionsOf(db).Dir)
		testenv.Check(t, err)
		id.Muted = muted
		testenv.Check(t, id.Write(bloomdbtest.OptionsOf(db).Dir))
		var damage *folder.DamageError
		if _, err := bloomdbtest.TryOpen(bloomdbtest.OptionsOf(db)); !errors.As(err, &damage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A site that is no longer fully trusted has no effect after the database is opened. Its parts
// count again when the trust is restored.
func TestTrustTakenAway(t *testing.T) {
	b, c := deltasOf(t, "b", 1, 2), deltasOf(t, "c", 2, 3)
	db, all, onlyC := openWith(t, b, c), openWith(t, b, c), openWith(t, c)
	for name, tc := range map[string]struct {
		members wire.Members
		want    *bloomdb.DB
		trust   wire.Trust
	}{
		"vote":     {wire.Members{"b": {Trust: wire.TrustVote}, "c": {}}, onlyC, wire.TrustVote},
		"none":     {wire.Members{"b": {Trust: wire.TrustNone}, "c": {}}, onlyC, wire.TrustNone},
		"stranger": {wire.Members{"c": {}}, onlyC, wire.TrustNone},
		"full":     {wire.Members{"b": {}, "c": {}}, all, wire.TrustFull},
		"no names": {nil, all, wire.TrustFull},
	} {
		testenv.Check(t, db.Close())
		o := bloomdbtest.OptionsOf(db)
		o.Members = tc.members
		db = bloomdbtest.Open(t, o)
		if err := sameAnswers(db, tc.want, 1, 2, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := db.TrustOf("b"); got != tc.trust {
			t.Errorf("%s: trust %s", name, got)
		}
		if s := db.Status().Sites[1]; s.Site != "b" || s.Trust != tc.trust.String() || s.Cells == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if err := db.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		next := wire.Delta{Site: "b", Epoch: b[0].Epoch, Seq: 100}
		next.Data = sealer(db).EncodeDelta(next, 0, nil)
		if err := db.Apply(next.Data, peers.Skipped); (err != nil) != (tc.trust != wire.TrustFull) {
			t.Errorf("%s: a record: %v", name, err)
		}
	}
}

// Judge does not wait meanwhile, and never names a site after it was muted.
func TestJudgeWhileSitesAreMuted(t *testing.T) {
	b, c := deltasOf(t, "b", 1), deltasOf(t, "c", 2)
	db := openWith(t, b, c)
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if !db.Judge(bloomdbtest.Message(2)).Listed {
					t.Error("another site's message is not listed")
					return
				}
				db.Judge(wordy(1, words(100, 60)...))
				db.Status()
			}
		})
	}
	for range 20 {
		testenv.Check(t, db.Mute("b", true))
		if e := db.Judge(wordy(1, words(100, 60)...)); e.Listed || e.Count > 0 {
			t.Fatalf("although muted: %+v", e)
		}
		testenv.Check(t, db.Mute("b", false))
		if !db.Judge(bloomdbtest.Message(1)).Listed {
			t.Fatal("unmuted without effect")
		}
	}
	close(stop)
	asking.Wait()
}

// A site that is muted while its generations expire is removed with them, and stays muted.
func TestMutedSiteExpires(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := classOptions(t.TempDir(), "a")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Apply(t, db, deltasOf(t, "b", 1)...)
	testenv.Check(t, db.Mute("b", true))
	c.Add(400 * 24 * time.Hour)
	for range layout.KeepExpired {
		db.Maintain()
	}
	if s := db.Status(); len(s.Filters) > 0 || len(s.Sites) != 2 || !s.Sites[1].Muted || s.Sites[1].Memory > 0 {
		t.Errorf("status %+v", s)
	}
	if err := db.Mute("b", false); err != nil {
		t.Error(err)
	}
}

// A site that is dropped, unmuted and saved is on disk again, although its snapshot is the same
// as before.
func TestDropAndReadAgain(t *testing.T) {
	b := deltasOf(t, "b", 1, 2)
	db, never, all := openWith(t, b), openWith(t), openWith(t, b)
	testenv.Check(t, errors.Join(db.Save(), db.Drop("b")))
	if err := sameStatus(db, never); err != nil {
		t.Errorf("dropped: %v", err)
	}
	testenv.Check(t, db.Mute("b", false))
	bloomdbtest.Apply(t, db, b...)
	testenv.Check(t, db.Save())
	crash(t, db)
	if err := sameAnswers(bloomdbtest.Open(t, bloomdbtest.OptionsOf(db)), all, 1, 2); err != nil {
		t.Error(err)
	}
}
