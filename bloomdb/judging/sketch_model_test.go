package judging

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

// sketchFact is a report or a revocation of groups in the model.
type sketchFact struct {
	gen    int64
	site   string
	rungs  []int // whose lists have the groups
	groups []signature.Group
}

// sketchWorld is two sites that exchange deltas, and plain lists of their expected content.
type sketchWorld struct {
	*rapid.T
	clock   *keyspacetest.Clock
	dirs    map[string]string
	sites   map[string]*keyspace.Keyspace
	streams map[string][]wire.Delta // all that a site has published
	known   map[string][]sketchFact
	news    map[string][]sketchFact // known to a site only
	reports int
}

func (w *sketchWorld) open(site string) {
	ks := keyspace.New(keyspacetest.Config(w.dirs[site], site, w.clock.Now))
	if err := ks.Load(); err != nil {
		w.Fatal(err)
	}
	w.sites[site] = ks
	epoch, seq := uint64(0), uint64(0)
	if s := w.streams[site]; len(s) > 0 {
		epoch, seq = s[len(s)-1].Epoch, s[len(s)-1].Seq
	}
	if err := ks.Outbox.Resume(epoch, seq); err != nil {
		w.Fatal(err)
	}
}

// hear applies another site's stream from the cursor on, like the exchange.
func (w *sketchWorld) hear(site, from string) {
	for _, d := range w.streams[from] {
		if err := w.sites[site].Peers.Apply(d.Data, peers.Skipped); err != nil {
			w.Fatal(err)
		}
	}
}

// drawGroups draws groups from few anchors and keys, so that they have some in common.
func drawGroups(t *rapid.T) []signature.Group {
	groups := make([]signature.Group, rapid.IntRange(1, 3).Draw(t, "groups"))
	for i := range groups {
		keys := rapid.SliceOfNDistinct(rapid.IntRange(1, 8), 1, 6, rapid.ID).Draw(t, "keys")
		g := signature.Group{Anchor: filter.Mix(uint64(rapid.IntRange(1, 4).Draw(t, "anchor"))), Need: 3, Weak: 2}
		for _, k := range keys {
			g.Keys = append(g.Keys, filter.Mix(uint64(100+k)))
		}
		groups[i] = g
	}
	return groups
}

// storedKeys returns the number of keys of a group that a site has stored with its anchor in one
// generation, in the list of a rung.
func storedKeys(facts []sketchFact, gen int64, site string, rung int, asked signature.Group) int {
	n := 0
	for _, key := range asked.Keys {
		if slices.ContainsFunc(facts, func(f sketchFact) bool {
			return f.gen == gen && f.site == site && slices.Contains(f.rungs, rung) && slices.ContainsFunc(f.groups, func(g signature.Group) bool {
				return g.Anchor == asked.Anchor && slices.Contains(g.Keys, key)
			})
		}) {
			n++
		}
	}
	return n
}

// newest is the newest generation in which some site has reported as many keys of one of the
// groups.
func newest(facts []sketchFact, asked []signature.Group, least int) int64 {
	gen := int64(math.MinInt64)
	for _, f := range facts {
		if hasRung(facts, f.gen, 0, asked, least) {
			gen = max(gen, f.gen)
		}
	}
	return gen
}

// hasRung reports whether a site has stored at least as many keys of one of the groups.
func hasRung(facts []sketchFact, gen int64, rung int, asked []signature.Group, least int) bool {
	return slices.ContainsFunc(facts, func(f sketchFact) bool {
		return f.gen == gen && slices.ContainsFunc(asked, func(g signature.Group) bool {
			return storedKeys(facts, gen, f.site, rung, g) >= least
		})
	})
}

// topRung is the highest rung in the ladder below which none is missing there, else 1, 0 or -1. Of
// the last rungs, only those of the site itself count.
func topRung(self string, facts []sketchFact, gen int64, asked []signature.Group) int {
	own := slices.DeleteFunc(slices.Clone(facts), func(f sketchFact) bool { return f.site != self })
	top := 1
	for {
		of := facts
		if top+1 >= layout.SharedRungs {
			of = own
		}
		if !hasRung(of, gen, top+1, asked, 3) {
			break
		}
		top++
	}
	for top < 2 && top >= 0 && !hasRung(facts, gen, top, asked, 3) {
		top--
	}
	return top
}

// newestRevoked is the newest generation in which the groups were revoked, and not reported
// since.
func newestRevoked(self string, facts []sketchFact, asked []signature.Group) int64 {
	gen := int64(math.MinInt64)
	for _, f := range facts {
		if hasRung(facts, f.gen, 1, asked, 3) && topRung(self, facts, f.gen, asked)%2 == 1 {
			gen = max(gen, f.gen)
		}
	}
	return gen
}

// foundKeys are the keys of a group that any site has stored with its anchor.
func foundKeys(facts []sketchFact, gen int64, rung int, asked signature.Group) (keys []uint64) {
	for _, key := range asked.Keys {
		if slices.ContainsFunc(facts, func(f sketchFact) bool {
			return storedKeys([]sketchFact{f}, gen, f.site, rung, signature.Group{Anchor: asked.Anchor, Keys: []uint64{key}}) > 0
		}) {
			keys = append(keys, key)
		}
	}
	return keys
}

// newestApart is the newest generation with a group that some site has reported, of other keys than all groups
// that were revoked since: of at least four that are no greater than the greatest revoked one, less than an eighth.
func newestApart(facts []sketchFact, asked []signature.Group) int64 {
	newest := int64(math.MinInt64)
	for _, gen := range generations(facts) {
		for _, g := range asked {
			if !hasRung(facts, gen, 0, []signature.Group{g}, 3) {
				continue
			}
			keys, isApart := foundKeys(facts, gen, 0, g), true
			for _, since := range generations(facts) {
				for _, r := range asked {
					if since < gen || !hasRung(facts, since, 1, []signature.Group{r}, 3) {
						continue
					}
					of, compared, common := foundKeys(facts, since, 1, r), 0, 0
					for _, k := range keys {
						compared += boolOrder(k <= slices.Max(of))
						common += boolOrder(slices.Contains(of, k))
					}
					isApart = isApart && compared >= 4 && 8*common < compared
				}
			}
			if isApart {
				newest = max(newest, gen)
			}
		}
	}
	return newest
}

func generations(facts []sketchFact) (list []int64) {
	for _, f := range facts {
		list = append(list, f.gen)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// written returns the rungs that a word writes over a top: its first one, and all from 2 on.
func written(top int, revoke bool) (rungs []int) {
	first := boolOrder(revoke)
	next := max(top, 0)
	if next%2 != first {
		next++
	}
	if next >= layout.ReporterRungs {
		return nil
	}
	rungs = []int{first}
	for r := 2; r <= next; r++ {
		rungs = append(rungs, r)
	}
	return rungs
}

func (w *sketchWorld) step(t *testing.T, site, other string) {
	ks := w.sites[site]
	switch what := rapid.SampledFrom([]string{"report", "report", "report", "revoke", "exchange", "period", "save", "crash", "close"}).Draw(w.T, "what"); what {
	case "report", "revoke":
		f := sketchFact{gen: ks.Settings.Generation(layout.SpamFilter, w.clock.Now()), site: site, groups: drawGroups(w.T)}
		kind := layout.SpamFilter
		if what == "revoke" {
			kind = layout.RevokedFilter
		}
		f.rungs = written(topRung(site, w.known[site], f.gen, f.groups), what == "revoke")
		w.reports++
		if err := listGroups(ks, kind, keyspacetest.Message(w.reports), []sketch.KindGroups{{Kind: signature.KindSketch, Groups: f.groups}}); err != nil {
			w.Fatal(err)
		}
		w.known[site], w.news[site] = append(w.known[site], f), append(w.news[site], f)
	case "exchange":
		w.streams[site] = append(w.streams[site], keyspacetest.Drain(t, ks)...)
		w.hear(other, site)
		w.known[other] = append(w.known[other], w.news[site]...)
		w.news[site] = nil
	case "period":
		w.clock.Add(time.Duration(rapid.IntRange(1, 3).Draw(w.T, "periods")) * 168 * time.Hour)
	case "save":
		if err := ks.Save(); err != nil {
			w.Fatal(err)
		}
	case "crash":
		ks.Closed.Store(true) // nothing is flushed or written
		w.open(site)
		w.hear(site, other)
	case "close":
		if err := ks.Close(); err != nil {
			w.Fatal(err)
		}
		w.open(site)
	}
}

// Whatever is reported, revoked and exchanged, through crashes, restarts and the
// change of periods: a message matches if one site has stored, in one generation,
// enough keys of one of its groups with that group's anchor, and no revocation of
// that generation or a newer one matches that was not followed by a report, or all that
// match have other keys.
func TestSketchesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := sketchWorld{
			T: rt, clock: keyspacetest.NewClock(), dirs: make(map[string]string), sites: make(map[string]*keyspace.Keyspace),
			streams: make(map[string][]wire.Delta),
			known:   make(map[string][]sketchFact), news: make(map[string][]sketchFact),
		}
		defer func() {
			for _, ks := range w.sites {
				ks.Close()
			}
		}()
		names := []string{"a", "b"}
		for _, n := range names {
			w.dirs[n] = t.TempDir()
			w.open(n)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "site")
			w.step(t, names[i], names[1-i])
			for _, site := range names {
				w.ask(site, drawGroups(rt))
			}
		}
		for _, ks := range w.sites {
			if err := ks.Check(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// ask compares an answer with the lists.
func (w *sketchWorld) ask(site string, asked []signature.Group) {
	ks := w.sites[site]
	oldest := ks.Settings.Generation(layout.SpamFilter, ks.Settings.Now()) - int64(ks.Settings.Reports.Keep) + 1
	facts := slices.DeleteFunc(slices.Clone(w.known[site]), func(f sketchFact) bool { return f.gen < oldest })
	revoked := newestRevoked(site, facts, asked)
	strong, weak := newest(facts, asked, 3), newest(facts, asked, 2)
	e := judgeGroups(ks, []sketch.KindGroups{{Kind: signature.KindSketch, Groups: asked}})
	listed := strong > revoked
	if apart := newestApart(facts, asked); !listed && apart > math.MinInt64 {
		listed, strong = true, apart
	}
	onlyWeak := !listed && weak > revoked
	overruled := !listed && !onlyWeak && strong > math.MinInt64
	got := fmt.Sprint(e.Listed, len(e.Weak), len(e.Matches))
	want := fmt.Sprint(listed, boolOrder(onlyWeak), boolOrder(listed || overruled))
	if got != want {
		w.Fatalf("site %s: %s, want %s (listed, weak, matches)", site, got, want)
	}
	for _, m := range append(e.Matches, e.Weak...) {
		w.checkMatch(site, facts, asked, m, strong, weak)
	}
}

// checkMatch compares a match with the lists.
func (w *sketchWorld) checkMatch(site string, facts []sketchFact, asked []signature.Group, m Match, strong, weak int64) {
	gen := strong
	if m.Found < m.Need {
		gen = weak
	}
	for _, g := range asked {
		if w.sites[site].Sketches.AnchorSignature(signature.KindSketch, g.Anchor) != m.Signature || m.Keys != len(g.Keys) {
			continue
		}
		most := 0
		for _, s := range m.Sites {
			most = max(most, storedKeys(facts, m.Generation, s, 0, g))
		}
		if most == m.Found && m.Generation == gen && len(m.Sites) > 0 {
			return
		}
	}
	w.Fatalf("site %s: no group and site make the match %+v", site, m)
}
