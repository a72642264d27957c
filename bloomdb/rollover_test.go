package bloomdb_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

var newKey = [32]byte{9, 8, 7}

// rolledOver configures a site that has both keys.
func rolledOver(o bloomdb.Options) bloomdb.Options {
	before := o.Key
	o.Key, o.PreviousKey = newKey, &before
	return o
}

// onlyNew configures a site that has abandoned the previous key.
func onlyNew(o bloomdb.Options) bloomdb.Options {
	o.Key, o.PreviousKey = newKey, nil
	return o
}

func listed(t testing.TB, db *bloomdb.DB, n int, want bool) {
	t.Helper()
	if e := db.Judge(bloomdbtest.Message(n)); e.Listed != want {
		t.Errorf("message %d: listed %v, want %v: %+v", n, e.Listed, want, e)
	}
}

// federation is three sites during a key change: a has the old key, b both, c the new one.
type rolling struct{ a, b, c *bloomdb.DB }

func newRolling(t testing.TB, now func() time.Time) rolling {
	t.Helper()
	open := func(site string, keys func(bloomdb.Options) bloomdb.Options) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Now = now
		return bloomdbtest.Open(t, keys(o))
	}
	return rolling{
		open("a", func(o bloomdb.Options) bloomdb.Options { return o }), open("b", rolledOver), open("c", onlyNew),
	}
}

// exchange transfers the changes of each site to those that share a key with it.
func (r rolling) exchange(t testing.TB) {
	t.Helper()
	for _, pair := range [][2]*bloomdb.DB{{r.a, r.b.Previous()}, {r.b.Previous(), r.a}, {r.b, r.c}, {r.c, r.b}} {
		bloomdbtest.Apply(t, pair[1], bloomdbtest.Drain(t, pair[0])...)
	}
}

func TestRollingSitesExchange(t *testing.T) {
	r := newRolling(t, bloomdbtest.NewClock().Now)
	bloomdbtest.Report(t, r.a, 1)
	bloomdbtest.Report(t, r.b, 2)
	bloomdbtest.Report(t, r.c, 3)
	for _, db := range []*bloomdb.DB{r.a, r.b, r.c} {
		bloomdbtest.Report(t, db, 4)
	}
	r.exchange(t)
	for _, w := range []struct {
		db     *bloomdb.DB
		listed []int
		sites  []string // that reported message 4
	}{
		{r.a, []int{1, 2, 4}, []string{"a", "b"}},
		{r.b, []int{1, 2, 3, 4}, []string{"a", "b", "c"}},
		{r.c, []int{2, 3, 4}, []string{"b", "c"}},
	} {
		for n := 1; n <= 5; n++ {
			listed(t, w.db, n, slices.Contains(w.listed, n))
		}
		e := w.db.Judge(bloomdbtest.Message(4))
		if len(e.Matches) != 2 || !slices.Equal(e.Matches[0].Sites, w.sites) || e.Sites != len(w.sites) {
			t.Errorf("site %s: %+v, want one match of each signature by %v", bloomdbtest.OptionsOf(w.db).Site, e, w.sites)
		}
	}
	testenv.Check(t, r.b.Revoke(bloomdbtest.Message(4)))
	r.exchange(t)
	for _, db := range []*bloomdb.DB{r.a, r.b, r.c} {
		listed(t, db, 4, false)
	}
	// A revocation at one of them affects b, whoever reported the message, under either
	// key.
	testenv.Check(t, r.a.Revoke(bloomdbtest.Message(3)))
	testenv.Check(t, r.c.Revoke(bloomdbtest.Message(1)))
	listed(t, r.b, 1, true)
	r.exchange(t)
	listed(t, r.b, 1, false)
	listed(t, r.b, 3, false)
	listed(t, r.b, 2, true)
}

// The newest generation decides across both keys: a message that was revoked under one key can
// be reported again under the other in the next period, and not in the same one.
func TestNewestGenerationWinsAcrossKeys(t *testing.T) {
	c := bloomdbtest.NewClock()
	r := newRolling(t, c.Now)
	bloomdbtest.Report(t, r.a, 1)
	testenv.Check(t, r.c.Revoke(bloomdbtest.Message(1)))
	r.exchange(t)
	bloomdbtest.Report(t, r.a, 1)
	r.exchange(t)
	listed(t, r.b, 1, false)
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, r.a, 1)
	r.exchange(t)
	listed(t, r.b, 1, true)
	if e := r.b.Judge(bloomdbtest.Message(1)); len(e.Matches) != 2 || e.Matches[0].Generation != bloomdbtest.SettingsOf(r.b).Generation(layout.SpamFilter, c.Now()) {
		t.Errorf("%+v", e)
	}
	testenv.Check(t, r.c.Revoke(bloomdbtest.Message(1)))
	r.exchange(t)
	listed(t, r.b, 1, false)
}

// A site that has both keys counts once. A site that has only one of them counts, too.
func TestCountsOfBothKeys(t *testing.T) {
	r := newRolling(t, bloomdbtest.NewClock().Now)
	bloomdbtest.Count(t, r.a, 1, 3)
	bloomdbtest.Count(t, r.b, 1, 10)
	bloomdbtest.Count(t, r.c, 1, 500)
	r.exchange(t)
	for _, w := range []struct {
		db    *bloomdb.DB
		count uint64
		sites int
	}{{r.a, 13, 2}, {r.b, 513, 3}, {r.c, 510, 2}} {
		if e := w.db.Judge(bloomdbtest.Message(1)); e.Count != w.count || e.Sites != w.sites {
			t.Errorf("site %s: %d by %d sites, want %d by %d", bloomdbtest.OptionsOf(w.db).Site, e.Count, e.Sites, w.count, w.sites)
		}
	}
	trace := r.b.Explain(bloomdbtest.Message(1))[1]
	var sites []string
	for _, trail := range trace.Counts {
		sites = append(sites, trail.Site)
	}
	if !slices.Equal(sites, []string{"a", "b", "c"}) {
		t.Errorf("explained by %v: %+v", sites, trace.Counts)
	}
}

// Near-duplicates are found and revoked across the keys, too.
func TestSketchesOfBothKeys(t *testing.T) {
	r := newRolling(t, bloomdbtest.NewClock().Now)
	near := func(n int) signature.Set {
		return wordy(2, append(words(0, 57), words(n, 3)...)...)
	}
	mustReportSet(t, r.a, wordy(1, words(0, 60)...))
	r.exchange(t)
	for _, site := range []struct {
		db   *bloomdb.DB
		want bool
	}{{r.a, true}, {r.b, true}, {r.c, false}} {
		if e := site.db.Judge(near(1000)); e.Listed != site.want {
			t.Errorf("site %s: %+v", bloomdbtest.OptionsOf(site.db).Site, e)
		}
	}
	mustReportSet(t, r.c, wordy(1, words(0, 60)...))
	r.exchange(t)
	if e := r.b.Judge(near(1000)); len(e.Matches) != 1 || e.Sites != 2 {
		t.Errorf("one match by two sites is wanted: %+v", e)
	}
	traces := r.b.ExplainSketches(near(1000))
	if len(traces) != 1 || len(traces[0].Spam) != 2 {
		t.Errorf("traces %+v", traces)
	}
	testenv.Check(t, r.c.Revoke(near(2000)))
	r.exchange(t)
	if e := r.b.Judge(near(1000)); e.Listed {
		t.Errorf("revoked under the other key: %+v", e)
	}
}

// Reports acknowledged before the key change are known throughout, including restarts and
// crashes, until their generations expire.
func TestNothingIsLostByRollingOver(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Now = c.Now
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	bloomdbtest.Report(t, db, 2)
	bloomdbtest.Count(t, db, 1, 7)
	testenv.Check(t, db.Revoke(bloomdbtest.Message(2)))
	if _, err := db.Never(bloomdbtest.Message(3), "ours"); err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, db.Close())
	for range 3 {
		db = bloomdbtest.Open(t, rolledOver(o))
		listed(t, db, 1, true)
		listed(t, db, 2, false)
		if e := db.Judge(bloomdbtest.Message(1)); e.Count != 7 {
			t.Errorf("count %d", e.Count)
		}
		if err := db.Report(bloomdbtest.Message(3), layout.ClassOther); !errors.Is(err, never.ErrNever) {
			t.Errorf("report of a message on the never-list: %v", err)
		}
		bloomdbtest.Report(t, db, 4)
		crash(t, db)
	}
	if s := log.String(); !strings.Contains(s, "under the previous federation key only") {
		t.Errorf("log:\n%s", s)
	}
	db = bloomdbtest.Open(t, rolledOver(o))
	if _, err := db.Never(bloomdbtest.Message(3), "ours"); err != nil {
		t.Fatal(err)
	}
	if list := db.NeverList(); len(list) != 1 {
		t.Errorf("never-list %+v", list)
	}
	until := *db.Status().PreviousUntil
	testenv.Check(t, db.Close())

	c.Add(until.Sub(c.Now()) - time.Second)
	db = bloomdbtest.Open(t, rolledOver(o))
	listed(t, db, 1, true)
	c.Add(time.Second)
	listed(t, db, 1, false)
	bloomdbtest.Report(t, db, 5)
	testenv.Check(t, db.Close())
	log.Reset()
	db = bloomdbtest.Open(t, onlyNew(o))
	listed(t, db, 5, true)
	if e := db.Judge(bloomdbtest.Message(3)); !e.Never {
		t.Error("the entry of the never-list is lost")
	}
	if s := log.String(); !strings.Contains(s, "rm -f identity") || strings.Contains(s, "under the previous federation key only") {
		t.Errorf("log:\n%s", s)
	}
}

// A site that exchanges its two keys, as one does that leaves a federation again, is not told to
// remove the newer key at once.
func TestPreviousUntilOfExchangedKeys(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Now = c.Now
	testenv.Check(t, bloomdbtest.Open(t, o).Close())
	c.Add(60 * 24 * time.Hour)
	db := bloomdbtest.Open(t, rolledOver(o))
	until := *db.Status().PreviousUntil
	testenv.Check(t, db.Close())
	c.Add(24 * time.Hour)
	exchanged := o
	exchanged.PreviousKey = &newKey
	if got := *bloomdbtest.Open(t, exchanged).Status().PreviousUntil; !got.Equal(until) {
		t.Errorf("after the exchange until %v, before it until %v", got, until)
	}
}

// A site that stops in the middle of a key change, or reverts it, has the data of that key.
func TestKeysFindTheirFolders(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	run := func(o bloomdb.Options, n int, known ...int) {
		t.Helper()
		db := bloomdbtest.Open(t, o)
		for _, k := range known {
			listed(t, db, k, true)
		}
		bloomdbtest.Report(t, db, n)
		testenv.Check(t, db.Close())
	}
	third := func(o bloomdb.Options) bloomdb.Options {
		before := newKey
		o.Key, o.PreviousKey = [32]byte{3}, &before
		return o
	}
	run(o, 1)
	run(rolledOver(o), 2, 1)
	run(o, 3, 1, 2) // back again
	run(rolledOver(o), 4, 1, 2, 3)
	run(onlyNew(o), 5, 2, 4)
	run(third(o), 6, 2, 4, 5)
	var log bytes.Buffer
	last := third(o)
	last.PreviousKey, last.Log = nil, slog.New(slog.NewTextHandler(&log, nil))
	run(last, 7, 6)
	for _, command := range []string{"rm -f identity", "rm -r '" + folder.KeyFolder(o.Dir, keyring.ID(newKey))} {
		if !strings.Contains(log.String(), command) {
			t.Errorf("%q is not in the log:\n%s", command, log.String())
		}
	}
	if _, err := bloomdbtest.TryOpen(bloomdb.Options{Dir: o.Dir, Site: "b", Key: [32]byte{4}}); !errors.Is(err, layout.ErrIdentity) {
		t.Errorf("a key that was never used: %v", err)
	}
	before := [32]byte{5}
	if _, err := bloomdbtest.TryOpen(bloomdb.Options{Dir: o.Dir, Site: "b", Key: [32]byte{4}, PreviousKey: &before}); !errors.Is(err, layout.ErrIdentity) {
		t.Errorf("two keys without data: %v", err)
	}
	if _, err := bloomdbtest.TryOpen(bloomdb.Options{Dir: o.Dir, Site: "b", Key: newKey, PreviousKey: &newKey}); err == nil {
		t.Error("no error for a key that is its own previous one")
	}
}

// The command in the log removes nothing that is in use, also if it is cut off at any point.
func TestOldStateRemoved(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "b")
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, rolledOver(o))
	bloomdbtest.Report(t, db, 2)
	testenv.Check(t, db.Close())
	for _, pattern := range []string{"identity", "segments", "journal-*", "*.snapshot", "*.mask", "*.set", "*.votes", "never-*"} {
		names, err := filepath.Glob(filepath.Join(o.Dir, pattern))
		testenv.Check(t, err)
		for _, name := range names {
			testenv.Check(t, os.Remove(name))
			db := bloomdbtest.Open(t, onlyNew(o))
			listed(t, db, 2, true)
			testenv.Check(t, db.Close())
		}
	}
	if !folder.HasState(o.Dir) {
		t.Error("the state folder is treated as empty")
	}
}
