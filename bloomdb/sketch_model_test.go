package bloomdb_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

// sketchFact is a report or a revocation of groups in the model.
type sketchFact struct {
	gen     int64
	site    string
	revoked bool
	groups  []signature.Group
}

// sketchWorld is two sites that exchange deltas, beside plain lists of what each of
// them should know.
type sketchWorld struct {
	classWorld
	known   map[string][]sketchFact
	news    map[string][]sketchFact // known to a site only
	reports int
}

// drawGroups draws groups of a small world of anchors and keys, so that they meet.
func drawGroups(t *rapid.T) []signature.Group {
	groups := make([]signature.Group, rapid.IntRange(1, 3).Draw(t, "groups"))
	for i := range groups {
		keys := rapid.SliceOfNDistinct(rapid.IntRange(1, 8), 1, 6, rapid.ID).Draw(t, "keys")
		g := signature.Group{Anchor: keyring.Mix(uint64(rapid.IntRange(1, 4).Draw(t, "anchor"))), Need: 3, Weak: 2}
		for _, k := range keys {
			g.Keys = append(g.Keys, keyring.Mix(uint64(100+k)))
		}
		groups[i] = g
	}
	return groups
}

// storedKeys says how many keys of a group a site has stored with its anchor in one
// generation.
func storedKeys(facts []sketchFact, gen int64, site string, revoked bool, asked signature.Group) int {
	n := 0
	for _, key := range asked.Keys {
		if slices.ContainsFunc(facts, func(f sketchFact) bool {
			return f.gen == gen && f.site == site && f.revoked == revoked && slices.ContainsFunc(f.groups, func(g signature.Group) bool {
				return g.Anchor == asked.Anchor && slices.Contains(g.Keys, key)
			})
		}) {
			n++
		}
	}
	return n
}

// newest is the newest generation in which some site has stored as many keys of one
// of the groups.
func newest(facts []sketchFact, revoked bool, asked []signature.Group, least int) int64 {
	gen := int64(math.MinInt64)
	for _, f := range facts {
		for _, g := range asked {
			if f.revoked == revoked && storedKeys(facts, f.gen, f.site, revoked, g) >= least {
				gen = max(gen, f.gen)
			}
		}
	}
	return gen
}

func (w *sketchWorld) step(t *testing.T, site, other string) {
	db := w.dbs[site]
	switch what := rapid.SampledFrom([]string{"report", "report", "report", "revoke", "exchange", "period", "save", "crash", "close"}).Draw(w.T, "what"); what {
	case "report", "revoke":
		f := sketchFact{db.Keyspace().Settings.Generation(layout.SpamFilter, w.clock.Now()), site, what == "revoke", drawGroups(w.T)}
		kind := layout.SpamFilter
		if f.revoked {
			kind = layout.RevokedFilter
		}
		w.reports++
		if err := listGroups(db, kind, bloomdbtest.Message(w.reports), []sketch.KindGroups{{Kind: signature.KindSketch, Groups: f.groups}}); err != nil {
			w.Fatal(err)
		}
		w.known[site], w.news[site] = append(w.known[site], f), append(w.news[site], f)
	case "exchange":
		w.streams[site] = append(w.streams[site], bloomdbtest.Drain(t, db)...)
		w.hear(other, site)
		w.known[other] = append(w.known[other], w.news[site]...)
		w.news[site] = nil
	case "period":
		w.clock.Add(time.Duration(rapid.IntRange(1, 3).Draw(w.T, "periods")) * 168 * time.Hour)
	case "save":
		if err := db.Keyspace().Save(); err != nil {
			w.Fatal(err)
		}
	case "crash":
		crash(t, db)
		w.open(site)
		w.hear(site, other)
	case "close":
		if err := db.Close(); err != nil {
			w.Fatal(err)
		}
		w.open(site)
	}
}

// Whatever is reported, revoked and exchanged, through crashes, restarts and the
// change of periods: a message matches if one site has stored, in one generation,
// enough keys of one of its groups with that group's anchor, and no revocation of
// that generation or a newer one matches.
func TestSketchesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := sketchWorld{
			classWorld: classWorld{
				T: rt, clock: bloomdbtest.NewClock(), options: make(map[string]bloomdb.Options), dbs: make(map[string]*bloomdb.DB),
				streams: make(map[string][]wire.Delta),
			},
			known: make(map[string][]sketchFact), news: make(map[string][]sketchFact),
		}
		defer func() {
			for _, db := range w.dbs {
				db.Close()
			}
		}()
		names := []string{"a", "b"}
		for _, n := range names {
			o := bloomdbtest.Options(t.TempDir(), n)
			o.Now = w.clock.Now
			w.options[n] = o
			w.open(n)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "site")
			w.step(t, names[i], names[1-i])
			for _, site := range names {
				w.ask(site, drawGroups(rt))
			}
		}
		for _, db := range w.dbs {
			if err := db.Check(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// ask compares a question's answer with the lists.
func (w *sketchWorld) ask(site string, asked []signature.Group) {
	db := w.dbs[site]
	oldest := db.Keyspace().Settings.Generation(layout.SpamFilter, db.Keyspace().Settings.Now()) - int64(db.Keyspace().Settings.Reports.Keep) + 1
	facts := slices.DeleteFunc(slices.Clone(w.known[site]), func(f sketchFact) bool { return f.gen < oldest })
	revoked := newest(facts, true, asked, 3)
	strong, weak := newest(facts, false, asked, 3), newest(facts, false, asked, 2)
	e := db.JudgeGroups([]sketch.KindGroups{{Kind: signature.KindSketch, Groups: asked}})
	listed := strong > revoked
	onlyWeak := !listed && weak > revoked
	overruled := !listed && !onlyWeak && strong > math.MinInt64
	got := fmt.Sprint(e.Listed, len(e.Weak), len(e.Matches))
	want := fmt.Sprint(listed, numberOf(onlyWeak), numberOf(listed || overruled))
	if got != want {
		w.Fatalf("site %s: %s, want %s (listed, weak, matches)", site, got, want)
	}
	for _, m := range append(e.Matches, e.Weak...) {
		w.checkMatch(site, facts, asked, m, strong, weak)
	}
}

// checkMatch holds what is said of a match against the lists.
func (w *sketchWorld) checkMatch(site string, facts []sketchFact, asked []signature.Group, m bloomdb.Match, strong, weak int64) {
	gen := strong
	if m.Found < m.Need {
		gen = weak
	}
	for _, g := range asked {
		if w.dbs[site].Keyspace().Sketches.AnchorSignature(signature.KindSketch, g.Anchor) != m.Signature || m.Keys != len(g.Keys) {
			continue
		}
		most := 0
		for _, s := range m.Sites {
			most = max(most, storedKeys(facts, m.Generation, s, false, g))
		}
		if most == m.Found && m.Generation == gen && len(m.Sites) > 0 {
			return
		}
	}
	w.Fatalf("site %s: no group and site make the match %+v", site, m)
}

// numberOf is 1 for true.
func numberOf(b bool) int { return map[bool]int{true: 1}[b] }
