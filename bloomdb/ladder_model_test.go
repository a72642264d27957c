package bloomdb_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// rungOf is a rung that a site has written for a message: a report or a revocation (0 and 1), or
// a rung of the ladder.
type rungOf struct {
	message int
	gen     int64
	rung    int
}

// ladderSite is a database with the expected rungs of itself and of every other site.
type ladderSite struct {
	name  string
	db    *bloomdb.DB
	parts map[string]map[rungOf]bool // by origin
	saved map[string]map[rungOf]bool // rungs of other sites on disk

	stream []wire.Delta
	carry  map[uint64][]rungOf // what each delta of the stream contains, by its number
}

// ladderWorld contains sites that report and revoke the same messages. Deltas between them are
// lost, late, duplicated and reordered.
type ladderWorld struct {
	*rapid.T
	t     *testing.T
	clock *bloomdbtest.Clock
	sites []*ladderSite
}

const ladderMessages = 3

func ladderSet(n int) (set, near []int) {
	return words(1000*n, 60), append(words(1000*n, 55), words(1000*n+500, 5)...)
}

func (w *ladderWorld) open(name, dir string) *bloomdb.DB {
	o := bloomdbtest.Options(dir, name)
	o.Now = w.clock.Now
	return bloomdbtest.MustOpen(w.t, o)
}

// top returns the highest rung of a message in a generation, by the rules of package layout.
func top(has func(rungOf) bool, message int, gen int64) int {
	isReported, isRevoked := has(rungOf{message, gen, 0}), has(rungOf{message, gen, 1})
	top := 0
	for r := 2; r < layout.Rungs && has(rungOf{message, gen, r}); r++ {
		top = r
	}
	switch {
	case isReported && isRevoked:
		return max(top, 1)
	case isRevoked:
		return 1
	case isReported:
		return 0
	}
	return -1
}

// above returns the rung that a report or a revocation needs to override the known ones, or
// layout.ReporterRungs if none is left.
func above(has func(rungOf) bool, message int, gen int64, revoke bool) int {
	next := 1
	for next+1 < layout.ReporterRungs && has(rungOf{message, gen, next + 1}) {
		next++
	}
	if next == 1 {
		next = max(0, top(has, message, gen))
	}
	if (next%2 == 1) != revoke {
		next++
	}
	return next
}

// rungsUpTo returns the rungs that a site writes: its first one, and all from 2 to its own.
func rungsUpTo(own int) (rungs []int) {
	rungs = []int{own % 2}
	for r := 2; r <= own && own < layout.ReporterRungs; r++ {
		rungs = append(rungs, r)
	}
	return rungs
}

func (s *ladderSite) has(r rungOf) bool {
	for origin, part := range s.parts {
		if part[r] && (r.rung < layout.SharedRungs || origin == s.name) {
			return true
		}
	}
	return false
}

// lists reports whether the newest generation with a rung of a message ends in a report.
func (s *ladderSite) lists(message int, now int64) bool {
	for gen := now + 1; gen > now-5; gen-- {
		if t := top(s.has, message, gen); t >= 0 {
			return t%2 == 0
		}
	}
	return false
}

func (w *ladderWorld) gen() int64 {
	s := bloomdbtest.SettingsOf(w.sites[0].db)
	return s.Generation(layout.SpamFilter, s.Now())
}

// enter reports or revokes a message at a site.
func (w *ladderWorld) enter(s *ladderSite, message int, isReport bool) {
	text, _ := ladderSet(message)
	set := wordy(message, text...)
	var err error
	if isReport {
		err = s.db.Report(set, layout.ClassOther)
	} else {
		err = s.db.Revoke(set)
	}
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range rungsUpTo(above(s.has, message, w.gen(), !isReport)) {
		s.add(s.name, rungOf{message, w.gen(), r})
	}
}

// publish adds a site's pending changes to its stream.
func (w *ladderWorld) publish(s *ladderSite) {
	for _, d := range bloomdbtest.Drain(w.t, s.db) {
		body, err := sealer(s.db).DecodeDelta(d.Data)
		if err != nil {
			w.Fatal(err)
		}
		s.stream = append(s.stream, d)
		for _, sec := range body.Sections {
			cells := make(map[uint64]bool)
			for _, c := range sec.Cells {
				cells[c.Pos] = true
			}
			for r := range s.parts[s.name] {
				if r.gen == sec.Target.Gen && w.isIn(s.db, r, sec, cells) {
					s.carry[d.Seq] = append(s.carry[d.Seq], r)
				}
			}
		}
	}
}

// isIn reports whether a section contains all bits of a rung.
func (w *ladderWorld) isIn(db *bloomdb.DB, r rungOf, sec wire.DeltaSection, cells map[uint64]bool) bool {
	h := bloomdbtest.Ring.ReportHash(bloomdbtest.Message(r.message).Signatures[0])
	kind := layout.LadderFilter
	switch r.rung {
	case 0:
		kind = layout.SpamFilter
	case 1:
		kind = layout.RevokedFilter
	default:
		h = keyring.Stretch(keyring.RungSeed(h, r.rung))
	}
	return kind == sec.Target.Kind && !slices.ContainsFunc(sec.Shape.Bits().Positions(h, nil), func(pos uint64) bool { return !cells[pos] })
}

// receive applies one delta of a site, whatever is missing before it.
func (w *ladderWorld) receive(to, from *ladderSite, d wire.Delta) {
	_, seq := to.db.Cursor(from.name)
	if err := to.db.Apply(d.Data, peers.Lost); err != nil {
		w.Fatal(err)
	}
	if d.Seq <= seq {
		return // too late: a snapshot must supply it
	}
	for _, r := range from.carry[d.Seq] {
		to.add(from.name, r)
	}
}

func (s *ladderSite) add(origin string, r rungOf) {
	if s.parts[origin] == nil {
		s.parts[origin] = make(map[rungOf]bool)
	}
	s.parts[origin][r] = true
}

// repair applies a site's snapshot, which contains published and pending changes.
func (w *ladderWorld) repair(to, from *ladderSite) {
	bloomdbtest.PublishSnapshot(w.t, from.db).Take(w.t, to.db)
	for r := range from.parts[from.name] {
		to.add(from.name, r)
	}
}

func clonedParts(parts map[string]map[rungOf]bool) map[string]map[rungOf]bool {
	clone := make(map[string]map[rungOf]bool)
	for origin, part := range parts {
		clone[origin] = maps.Clone(part)
	}
	return clone
}

// restart closes a site, or crashes it like kill -9, and opens it again.
func (w *ladderWorld) restart(s *ladderSite, isCrash bool) {
	dir := bloomdbtest.OptionsOf(s.db).Dir
	if isCrash {
		crash(w.t, s.db)
		own := s.parts[s.name]
		s.parts = clonedParts(s.saved)
		s.parts[s.name] = own // nothing acknowledged is lost
	} else if err := s.db.Close(); err != nil {
		w.Fatal(err)
	} else {
		s.saved = clonedParts(s.parts)
	}
	s.db = w.open(s.name, dir)
}

// forget drops a site and trusts it again: none of its data is left.
func (w *ladderWorld) forget(at, of *ladderSite) {
	if err := at.db.Drop(of.name); err != nil {
		w.Fatal(err)
	}
	if err := at.db.Mute(of.name, false); err != nil {
		w.Fatal(err)
	}
	delete(at.parts, of.name)
	delete(at.saved, of.name)
}

func (w *ladderWorld) step() {
	site := rapid.SampledFrom(w.sites)
	s, other := site.Draw(w.T, "site"), site.Draw(w.T, "other site")
	switch what := rapid.SampledFrom([]string{
		"enter", "enter", "enter", "enter", "publish", "receive", "receive", "receive", "repair", "forget", "save", "close", "kill", "week",
	}).Draw(w.T, "what"); {
	case what == "enter":
		w.enter(s, rapid.IntRange(1, ladderMessages).Draw(w.T, "message"), rapid.Bool().Draw(w.T, "report"))
	case what == "publish":
		w.publish(s)
	case what == "save":
		if err := s.db.Save(); err != nil {
			w.Fatal(err)
		}
		s.saved = clonedParts(s.parts)
	case what == "close", what == "kill":
		w.restart(s, what == "kill")
	case what == "week" && rapid.IntRange(0, 3).Draw(w.T, "waited") == 0:
		w.clock.Add(7 * 24 * time.Hour)
	case s == other:
	case what == "receive" && len(other.stream) > 0:
		w.receive(s, other, rapid.SampledFrom(other.stream).Draw(w.T, "delta"))
	case what == "repair":
		w.repair(s, other)
	case what == "forget":
		w.forget(s, other)
	}
}

func (w *ladderWorld) check() {
	for _, s := range w.sites {
		for m := 1; m <= ladderMessages; m++ {
			if got, want := s.db.Judge(bloomdbtest.Message(m)).Listed, s.lists(m, w.gen()); got != want {
				w.Fatalf("site %s, message %d: listed %v, want %v\n%v", s.name, m, got, want, s.parts)
			}
		}
	}
}

// converge gives all sites the same data, in an arbitrary order.
func (w *ladderWorld) converge() {
	for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}).Draw(w.T, "order") {
		if to, from := w.sites[i%3], w.sites[i/3]; to != from {
			w.repair(to, from)
		}
	}
}

// Deltas are lost, late, duplicated and reordered, and sites restart, crash or are dropped.
// Every site lists messages by the rungs that it has. When all data has arrived, all sites
// agree, unless a site used rungs that count only there. A report or revocation at a site that has
// all the data of the others is then decisive for the message and its near-duplicates: there, and
// at the other sites if its rung is shared.
func TestLadderModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := ladderWorld{T: rt, t: t, clock: bloomdbtest.NewClock()}
		for _, name := range []string{"a", "b", "c"} {
			w.sites = append(w.sites, &ladderSite{
				name: name, db: w.open(name, t.TempDir()),
				parts: map[string]map[rungOf]bool{name: {}}, saved: map[string]map[rungOf]bool{}, carry: make(map[uint64][]rungOf),
			})
		}
		defer func() {
			for _, s := range w.sites {
				s.db.Close()
			}
		}()
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.step()
			w.check()
		}
		w.converge()
		w.check()
		for m := 1; m <= ladderMessages; m++ {
			for _, s := range w.sites[1:] {
				if !w.isLocal(m) && s.lists(m, w.gen()) != w.sites[0].lists(m, w.gen()) {
					rt.Fatalf("message %d: sites %s and %s differ", m, s.name, w.sites[0].name)
				}
			}
			w.enterLast(rapid.SampledFrom(w.sites).Draw(rt, "last site"), m, rapid.Bool().Draw(rt, "last word"))
		}
	})
}

// isLocal reports whether a site used rungs of a message that count only there.
func (w *ladderWorld) isLocal(message int) bool {
	return slices.ContainsFunc(w.sites, func(s *ladderSite) bool { return top(s.has, message, w.gen()) >= layout.SharedRungs })
}

// enterLast reports or revokes a message last.
func (w *ladderWorld) enterLast(s *ladderSite, message int, isReport bool) {
	isOver := top(s.has, message, w.gen()) == layout.ReporterRungs-1
	w.enter(s, message, isReport)
	for _, other := range w.sites {
		if other != s {
			w.repair(other, s)
		}
	}
	w.check()
	if t := top(s.has, message, w.gen()); t >= layout.SharedRungs-4 && t < layout.SharedRungs || t >= layout.ReporterRungs-4 {
		return // the sketch may have a rung more or less left
	}
	reached := w.sites
	if w.isLocal(message) {
		reached = []*ladderSite{s}
	}
	text, near := ladderSet(message)
	for _, other := range reached {
		for name, words := range map[string][]int{"message": text, "near-duplicate": near} {
			number := message
			if name == "near-duplicate" {
				number = 100 + message
			}
			if got := other.db.Judge(wordy(number, words...)).Listed; got != (isReport && !isOver) {
				w.Fatalf("site %s, %s %d: listed %v after a last report: %v", other.name, name, message, got, isReport)
			}
		}
	}
}
