package bloomdb_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// votesModel is a site, and filters that receive the same reports once, in order, without a
// disk.
type votesModel struct {
	*rapid.T
	clock   *bloomdbtest.Clock
	opt     bloomdb.Options
	db      *bloomdb.DB
	filters map[int64]*generalized.Filter
	words   map[int64]map[int]int // by generation; see nextRung
}

func (m *votesModel) generation() int64 {
	return bloomdbtest.Settings(m.opt).Generation(layout.SpamFilter, m.clock.Now())
}

func (m *votesModel) open() {
	db, err := bloomdbtest.TryOpen(m.opt)
	if err != nil {
		m.Fatal(err)
	}
	m.db = db
}

// enter applies a report or revocation to the model.
func (m *votesModel) enter(n int, revoked bool) {
	gen := m.generation()
	if m.words[gen] == nil {
		m.words[gen] = map[int]int{}
	}
	isOver := m.words[gen][n] == layout.ReporterRungs
	m.words[gen][n] = nextRung(m.words[gen][n], revoked)
	if !revoked && !isOver {
		for _, g := range []int64{gen - 1, gen} {
			if m.filters[g] == nil {
				m.filters[g], _ = generalized.New(wire.VotesShape)
			}
		}
	}
	for _, i := range vote.Keys(bloomdbtest.Message(n).Signatures) {
		p := vote.Positions(vote.Seed(bloomdbtest.Ring.VotesKey(m.opt.Site), bloomdbtest.Ring.ReportHash(bloomdbtest.Message(n).Signatures[i])), nil)
		for g, f := range m.filters {
			switch {
			case revoked:
				f.Retract(p)
			case g >= gen-1 && !isOver:
				f.Insert(p)
			}
		}
	}
}

func (m *votesModel) step(t *testing.T) {
	n := rapid.IntRange(0, 5).Draw(m.T, "message")
	switch rapid.SampledFrom([]string{"report", "report", "report", "revoke", "period", "save", "publish", "crash", "close"}).Draw(m.T, "what") {
	case "report":
		bloomdbtest.Report(t, m.db, n)
		m.enter(n, false)
	case "revoke":
		bloomdbtest.Revoke(t, m.db, n)
		m.enter(n, true)
	case "period":
		m.clock.Add(time.Duration(rapid.IntRange(1, 3).Draw(m.T, "periods")) * 168 * time.Hour)
		for range layout.KeepExpired * rapid.IntRange(0, 1).Draw(m.T, "expired") {
			m.db.Maintain()
			m.db.Keyspace().Votes.Own.Expire(bloomdbtest.SettingsOf(m.db).VotesGeneration() - 1)
		}
	case "save":
		if err := m.db.Save(); err != nil {
			m.Fatal(err)
		}
	case "publish":
		bloomdbtest.Drain(t, m.db)
	case "crash":
		crash(t, m.db)
		m.open()
	case "close":
		if err := m.db.Close(); err != nil {
			m.Fatal(err)
		}
		m.open()
	}
}

// check compares the published votes and those of the next period, by the number of their bits.
func (m *votesModel) check() {
	for _, gen := range []int64{m.generation() - 1, m.generation()} {
		var got, want uint64
		body, _, err := m.db.Keyspace().Votes.Own.Body(gen, m.opt.Reports.Period)
		if err != nil {
			m.Fatal(err)
		}
		if v, err := wire.DecodeVotes(body); err != nil {
			m.Fatal(err)
		} else {
			got = v.Filter.Ones()
		}
		if f := m.filters[gen]; f != nil {
			want = f.Ones()
		}
		if got != want {
			m.Fatalf("votes that begin with %d: %d bits, want %d", gen, got, want)
		}
	}
}

// checkBits compares the record's bits.
func (m *votesModel) checkBits(gen int64) {
	var want []filter.Cell
	if f := m.filters[gen]; f != nil {
		want = f.Cells(nil)
	}
	body, _, err := m.db.Keyspace().Votes.Own.Body(gen, m.opt.Reports.Period)
	if err != nil {
		m.Fatal(err)
	}
	v, err := wire.DecodeVotes(body)
	if err != nil || v.Gen != gen {
		m.Fatalf("votes that begin with %d: %d, %v", gen, v.Gen, err)
	}
	if got := v.Filter.Cells(nil); !slices.Equal(got, want) {
		m.Fatalf("votes that begin with %d: %d bits, want %d", gen, len(got), len(want))
	}
}

// Through crashes, restarts, snapshots at any time and new periods, a site's published votes
// have exactly the bits of its acknowledged reports and revocations in order.
func TestVotesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := votesModel{T: rt, clock: bloomdbtest.NewClock(), filters: map[int64]*generalized.Filter{}, words: map[int64]map[int]int{}}
		m.opt = bloomdbtest.Options(t.TempDir(), "a")
		layout.SetDefaults(&m.opt.Reports, &m.opt.Counts, &m.opt.Domains)
		m.opt.Now = m.clock.Now
		m.open()
		defer func() { m.db.Close() }()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			m.step(t)
			m.check()
		}
		m.checkBits(m.generation() - 1)
		m.checkBits(m.generation())
		if err := m.db.Check(); err != nil {
			rt.Fatal(err)
		}
	})
}

// A report that was not written to disk is not a vote.
func TestVotesOfRefusedReport(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a := listener(t, c, "a"), member(t, c, "a")
	bloomdbtest.Report(t, a, 1)
	mend := breakDisk(t, a)
	if err := a.Report(bloomdbtest.Message(2), layout.ClassOther); err == nil {
		t.Fatal("the report was acknowledged with a failing disk")
	}
	mend()
	bloomdbtest.Report(t, a, 3)
	mustApplyVotes(t, here, a)
	for n, want := range map[int]int{1: 1, 2: 0, 3: 1} {
		if e := here.Judge(bloomdbtest.Message(n)); e.Votes != want {
			t.Errorf("message %d: %d votes, want %d", n, e.Votes, want)
		}
	}
}

// Votes of other sites are in the folder: they survive a crash, and a start without Redis.
// Votes that would now be rejected are removed; damaged ones are set aside.
func TestVotesAreKept(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := listenerOptions(t.TempDir(), c, "a", "b")
	here, a, b := bloomdbtest.Open(t, o), member(t, c, "a"), member(t, c, "b")
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Report(t, b, 1)
	mustApplyVotes(t, here, a, b)
	crash(t, here)
	here = bloomdbtest.Open(t, o)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 2 || !e.Listed {
		t.Errorf("after a crash: %d votes", e.Votes)
	}
	testenv.Check(t, here.Close())
	o.Members["b"] = wire.Member{Trust: wire.TrustNone}
	here = bloomdbtest.Open(t, o)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 1 {
		t.Errorf("after one lost its trust: %d votes", e.Votes)
	}
	if _, err := os.Stat(store.VotesPath(o.Dir, "b")); err == nil {
		t.Error("its file was not removed")
	}
	testenv.Check(t, here.Close())
	testenv.Check(t, os.Truncate(store.VotesPath(o.Dir, "a"), 100))
	var log strings.Builder
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	here = bloomdbtest.Open(t, o)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 0 || !strings.Contains(log.String(), "site-a.votes.damaged") {
		t.Errorf("after its file was torn: %d votes, %s", e.Votes, log.String())
	}
	mustApplyVotes(t, here, a)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 1 {
		t.Errorf("received again: %d votes", e.Votes)
	}
}

// During a key change, votes under either key count, one for each site. A revocation under
// either key ends the listing.
func TestVotesOfBothKeys(t *testing.T) {
	c := bloomdbtest.NewClock()
	here := bloomdbtest.Open(t, rolledOver(listenerOptions(t.TempDir(), c, "a", "b")))
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Now = c.Now
	a := bloomdbtest.Open(t, rolledOver(o))
	b := member(t, c, "b")
	for n := range 2 {
		bloomdbtest.Report(t, a, n)
		bloomdbtest.Report(t, b, n)
	}
	mustApplyVotes(t, here, a)
	mustApplyVotes(t, here.Previous(), a.Previous())
	if e := here.Judge(bloomdbtest.Message(0)); e.Votes != 1 || e.Listed || len(here.Explain(bloomdbtest.Message(0))[0].Votes) != 1 {
		t.Errorf("one site under both keys: %+v", e)
	}
	mustApplyVotes(t, here.Previous(), b)
	for n, want := range []int{2, 2, 0} {
		if e := here.Judge(bloomdbtest.Message(n)); e.Votes != want || e.Listed != (want == 2) {
			t.Errorf("message %d: %+v", n, e)
		}
	}
	bloomdbtest.Revoke(t, here, 1)
	if e := here.Judge(bloomdbtest.Message(1)); e.Votes != 2 || e.Listed {
		t.Errorf("revoked: %+v", e)
	}
	bloomdbtest.Revoke(t, a, 0)
	mustApplyVotes(t, here, a)
	mustApplyVotes(t, here.Previous(), a.Previous())
	if e := here.Judge(bloomdbtest.Message(0)); e.Votes != 1 || e.Listed {
		t.Errorf("revoked at one: %+v", e)
	}
}

// A muted site has no vote until it is unmuted. A dropped site leaves nothing, in memory or on
// disk.
func TestVotesOfMutedSite(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := listenerOptions(t.TempDir(), c, "a", "b")
	here, a, b := bloomdbtest.Open(t, o), member(t, c, "a"), member(t, c, "b")
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Report(t, b, 1)
	mustApplyVotes(t, here, a, b)
	step := func(what string, votes int) {
		t.Helper()
		if e := here.Judge(bloomdbtest.Message(1)); e.Votes != votes || e.Listed != (votes == 2) || len(here.Explain(bloomdbtest.Message(1))[1].Votes) != votes {
			t.Errorf("%s: %d votes, listed %v; want %d", what, e.Votes, e.Listed, votes)
		}
	}
	step("both", 2)
	must(t, here.Mute("b", true))
	step("one is muted", 1)
	bloomdbtest.Report(t, b, 2)
	if err := here.ApplyVotes(mustVotes(t, b)); !errors.Is(err, wire.ErrMuted) {
		t.Errorf("votes of a muted site: %v", err)
	}
	must(t, here.Mute("b", false))
	step("heard again", 2)
	must(t, here.Drop("b"))
	step("dropped", 1)
	if names := mustGlob(t, o.Dir, "site-b*"); len(names) > 0 {
		t.Errorf("files left of a dropped site: %v", names)
	}
	crash(t, here)
	here = bloomdbtest.Open(t, o)
	step("dropped, after a crash", 1)
	must(t, here.Mute("b", false))
	step("heard again, but nothing came", 1)
	mustApplyVotes(t, here, b)
	step("heard anew", 2)
}

func mustGlob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	testenv.Check(t, err)
	return names
}

// A damaged file of this site's own votes is set aside and named. A missing one is named, too.
func TestOwnVotesDamaged(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Now, o.Exchange = c.Now, false
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, db, 1)
	testenv.Check(t, db.Close())
	path := mustGlob(t, o.Dir, "own-*.votes")[0]
	good, err := os.ReadFile(path)
	testenv.Check(t, err)
	for at := 0; at < len(good); at += 1 + len(good)/20 {
		bad := slices.Clone(good)
		bad[at] ^= 1 << (at % 8)
		os.WriteFile(path, bad, 0o600)
		mustSetAside(t, o, path)
		os.WriteFile(path, good[:at], 0o600)
		mustSetAside(t, o, path)
	}
	mustSetAside(t, o, path) // it is missing now
	os.WriteFile(path, good, 0o600)
	bloomdbtest.Open(t, o)
}

// Reports, records, ApplyVotes and Judge run concurrently.
func TestVotesAtOnce(t *testing.T) {
	c := bloomdbtest.NewClock()
	here, a, b := listener(t, c, "a", "b"), member(t, c, "a"), member(t, c, "b")
	var all sync.WaitGroup
	for _, db := range []*bloomdb.DB{a, b} {
		all.Go(func() {
			for n := range 20 {
				bloomdbtest.Report(t, db, n)
				mustApplyVotes(t, here, db)
			}
		})
	}
	all.Go(func() {
		for n := range 200 {
			here.Judge(bloomdbtest.Message(n % 20))
			here.Explain(bloomdbtest.Message(n % 20))
		}
	})
	all.Wait()
	for n := range 20 {
		if e := here.Judge(bloomdbtest.Message(n)); !e.Listed {
			t.Errorf("message %d has %d votes", n, e.Votes)
		}
	}
}

// For any body: a decoded filter is bounded and plausible, and equal after it is encoded again.
func FuzzVotes(f *testing.F) {
	few, _ := generalized.New(wire.VotesShape)
	few.Insert(vote.Positions(7, nil))
	f.Add(wire.AppendVotes(nil, wire.VotesBody{Gen: 2930, Period: 604800, Filter: few}))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.DecodeVotes(data)
		if err != nil {
			return
		}
		testenv.Check(t, v.Filter.Plausible())
		again, err := wire.DecodeVotes(wire.AppendVotes(nil, v))
		if err != nil || again.Gen != v.Gen || again.Period != v.Period || again.Filter.Inserted() != v.Filter.Inserted() ||
			!slices.Equal(again.Filter.Cells(nil), v.Filter.Cells(nil)) {
			t.Fatalf("decoded, coded and decoded: %v", err)
		}
	})
}
