package bloomdb_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// fact is a report or a revocation in the model.
type fact struct {
	gen     int64
	message int
	site    string
	revoked bool
	rungs   []int
	class   layout.Class
}

// hasRung returns a function that reports whether any of the facts has written a rung.
func hasRung(facts []fact) func(rungOf) bool {
	return func(r rungOf) bool {
		return slices.ContainsFunc(facts, func(f fact) bool {
			return f.message == r.message && f.gen == r.gen && slices.Contains(f.rungs, r.rung)
		})
	}
}

// after returns the fact with the rungs that it writes when others were written before.
func (f fact) after(facts []fact) fact {
	f.rungs = rungsUpTo(above(hasRung(facts), f.message, f.gen, f.revoked))
	return f
}

// classModel contains the expected data of each site, as plain lists.
type classModel struct{ known map[string][]fact }

// judge reports whether a message is listed at a site, its class, and the trails that Explain
// must return for each generation and reporting site.
func (m *classModel) judge(site string, n int, oldest int64) (listed bool, class layout.Class, trails map[string]string) {
	revoked := int64(math.MinInt64)
	trails = make(map[string]string)
	for _, f := range m.known[site] {
		if f.message == n && f.gen >= oldest && top(hasRung(m.known[site]), n, f.gen)%2 == 1 {
			revoked = max(revoked, f.gen)
		}
	}
	named := make(map[string][]layout.Class)
	for _, f := range m.known[site] {
		if f.message != n || f.revoked || f.gen < oldest {
			continue
		}
		at := fmt.Sprintf("%s %d", f.site, f.gen)
		trails[at] = ""
		if f.class.Named() && !slices.Contains(named[at], f.class) {
			named[at] = append(named[at], f.class)
		}
		if f.gen > revoked {
			listed, class = true, layout.Gravest(class, f.class)
		}
	}
	for at, classes := range named {
		slices.Sort(classes)
		trails[at] = fmt.Sprint(classes)
	}
	return listed, class, trails
}

// classWorld is two sites that exchange deltas, and their model.
type classWorld struct {
	*rapid.T
	clock   *bloomdbtest.Clock
	options map[string]bloomdb.Options
	dbs     map[string]*bloomdb.DB
	model   classModel
	pending map[string][]fact       // not yet published by the site
	streams map[string][]wire.Delta // all that a site has published
}

func (w *classWorld) open(site string) {
	db, err := bloomdbtest.TryOpen(w.options[site])
	if err != nil {
		w.Fatal(err)
	}
	w.dbs[site] = db
	epoch, seq := uint64(0), uint64(0)
	if s := w.streams[site]; len(s) > 0 {
		epoch, seq = s[len(s)-1].Epoch, s[len(s)-1].Seq
	}
	if err := db.Resume(epoch, seq); err != nil {
		w.Fatal(err)
	}
}

// receive applies another site's stream from the cursor on, like the exchange.
func (w *classWorld) receive(site, from string) {
	for _, d := range w.streams[from] {
		if err := w.dbs[site].Apply(d.Data, peers.Skipped); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *classWorld) step(t *testing.T, site, other string) {
	db := w.dbs[site]
	f := fact{gen: bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, w.clock.Now()), site: site, message: rapid.IntRange(0, 5).Draw(w.T, "message")}
	switch rapid.SampledFrom([]string{"report", "report", "report", "revoke", "exchange", "period", "save", "crash", "close"}).Draw(w.T, "what") {
	case "report":
		f.class = rapid.SampledFrom(layout.Classes()).Draw(w.T, "class")
		mustReportAs(t, db, f.message, f.class)
		f = f.after(w.model.known[site])
		w.model.known[site], w.pending[site] = append(w.model.known[site], f), append(w.pending[site], f)
	case "revoke":
		f.revoked = true
		f = f.after(w.model.known[site])
		if err := db.Revoke(bloomdbtest.Message(f.message)); err != nil {
			w.Fatal(err)
		}
		w.model.known[site], w.pending[site] = append(w.model.known[site], f), append(w.pending[site], f)
	case "exchange":
		w.streams[site] = append(w.streams[site], bloomdbtest.Drain(t, db)...)
		w.receive(other, site)
		w.model.known[other] = append(w.model.known[other], w.pending[site]...)
		w.pending[site] = nil
	case "period":
		w.clock.Add(time.Duration(rapid.IntRange(1, 3).Draw(w.T, "periods")) * 168 * time.Hour)
	case "save":
		if err := db.Save(); err != nil {
			w.Fatal(err)
		}
	case "crash":
		crash(t, db)
		w.open(site)
		w.receive(site, other)
	case "close":
		if err := db.Close(); err != nil {
			w.Fatal(err)
		}
		w.open(site)
	}
}

// After any reports, revocations and exchanges, through crashes, restarts and new periods, a
// site returns the class of the model.
func TestClassesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := classWorld{
			T: rt, clock: bloomdbtest.NewClock(), options: make(map[string]bloomdb.Options), dbs: make(map[string]*bloomdb.DB),
			model:   classModel{known: make(map[string][]fact)},
			pending: make(map[string][]fact), streams: make(map[string][]wire.Delta),
		}
		defer func() {
			for _, db := range w.dbs {
				db.Close()
			}
		}()
		names := []string{"a", "b"}
		for _, n := range names {
			o := classOptions(t.TempDir(), n)
			o.Now = w.clock.Now
			w.options[n] = o
			w.open(n)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			i := rapid.IntRange(0, 1).Draw(rt, "site")
			w.step(t, names[i], names[1-i])
			w.check()
		}
		for _, db := range w.dbs {
			if err := db.Check(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func (w *classWorld) check() {
	for site, db := range w.dbs {
		oldest := bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, db.Now()) - int64(bloomdbtest.SettingsOf(db).Reports.Keep) + 1
		for n := range 6 {
			listed, class, trails := w.model.judge(site, n, oldest)
			e := db.Judge(bloomdbtest.Message(n))
			if e.Listed != listed || e.Class != class {
				w.Fatalf("site %s, message %d: listed %v as %s, want %v as %s", site, n, e.Listed, e.Class, listed, class)
			}
			got := make(map[string]string)
			for _, trail := range db.Explain(bloomdbtest.Message(n))[0].Spam {
				at := fmt.Sprintf("%s %d", trail.Site, trail.Generation)
				if got[at] = ""; len(trail.Classes) > 0 {
					got[at] = fmt.Sprint(trail.Classes)
				}
			}
			if !maps.Equal(got, trails) {
				w.Fatalf("site %s, message %d: trails %v, want %v", site, n, got, trails)
			}
		}
	}
}
