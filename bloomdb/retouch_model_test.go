package bloomdb_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// crowded configures filters in which keys share most of their bits: two lines for 125 keys.
func crowded(dir, site string, c *bloomdbtest.Clock) bloomdb.Options {
	o := bloomdbtest.Options(dir, site)
	o.Reports = layout.ReportOptions{Capacity: 100, KeysPerMessage: 2, Keep: 2, MaxErrorPerMail: 0.5}
	o.Now = c.Now
	return o
}

// generationModel is the content of one generation as plain keys without bits.
type generationModel struct {
	spam      map[string]map[filter.Hash]bool // by site
	revoked   map[string]map[filter.Hash]bool
	ladder    map[string]map[filter.Hash]bool
	retouched map[filter.Hash]bool
}

// retouchModel is a database, the deltas that another site has sent it, and its expected
// content.
type retouchModel struct {
	t           *testing.T
	db          *bloomdb.DB
	sent        []wire.Delta // by the other site
	opt         bloomdb.Options
	clock       *bloomdbtest.Clock
	generations map[int64]*generationModel
}

func (m *retouchModel) now() *generationModel {
	num := bloomdbtest.Settings(m.opt).Generation(layout.SpamFilter, m.clock.Now())
	if m.generations[num] == nil {
		m.generations[num] = &generationModel{
			spam:      map[string]map[filter.Hash]bool{"a": {}, "b": {}},
			revoked:   map[string]map[filter.Hash]bool{"a": {}, "b": {}},
			ladder:    map[string]map[filter.Hash]bool{"a": {}, "b": {}},
			retouched: map[filter.Hash]bool{},
		}
	}
	return m.generations[num]
}

// live returns the generations that have not expired, newest first.
func (m *retouchModel) live() (list []int64) {
	newest := bloomdbtest.Settings(m.opt).Generation(layout.SpamFilter, m.clock.Now())
	for num := range m.generations {
		if num > newest-int64(m.opt.Reports.Keep) {
			list = append(list, num)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// found reports whether the keys of one site together have all bits of a key.
func found(shape filter.BitsShape, sites map[string]map[filter.Hash]bool, h filter.Hash) bool {
	for _, keys := range sites {
		set := map[uint64]bool{}
		for key := range keys {
			for _, pos := range shape.Positions(key, nil) {
				set[pos] = true
			}
		}
		if !slices.ContainsFunc(shape.Positions(h, nil), func(pos uint64) bool { return !set[pos] }) {
			return true
		}
	}
	return false
}

// hidden reports whether a key has a masked bit.
func (m *retouchModel) hidden(num int64, h filter.Hash) bool {
	masked := m.masked(num)
	return slices.ContainsFunc(bloomdbtest.SettingsOf(m.db).SpamShape().Positions(h, nil), func(pos uint64) bool { return masked[pos] != nil })
}

// masked returns the database's masked bits, each with the keys that it hides.
func (m *retouchModel) masked(num int64) map[uint64][]filter.Hash {
	g := m.db.Keyspace().Store.View.Load().Report(num)
	if g == nil || g.Mask == nil {
		return nil
	}
	bits := map[uint64][]filter.Hash{}
	for _, pos := range g.Mask.Masked() {
		for _, k := range g.Mask.RestingOn(map[uint64]bool{pos: true}) {
			bits[pos] = append(bits[pos], k.Hash)
		}
		slices.SortFunc(bits[pos], func(a, b filter.Hash) int { return slices.Compare(a[:], b[:]) })
	}
	return bits
}

// hasRung returns a function that reports whether a generation has a rung of a key.
func (m *retouchModel) hasRung(g *generationModel, h filter.Hash) func(rungOf) bool {
	o := bloomdbtest.SettingsOf(m.db)
	return func(r rungOf) bool {
		switch r.rung {
		case 0:
			return found(o.SpamShape(), g.spam, h)
		case 1:
			return found(o.RevokedShape(), g.revoked, h)
		}
		return found(o.LadderShape(), g.ladder, keyring.Stretch(keyring.RungSeed(h, r.rung)))
	}
}

// isRevoked reports whether a key's highest rung in a generation is a revocation.
func (m *retouchModel) isRevoked(g *generationModel, h filter.Hash) bool {
	return top(m.hasRung(g, h), 0, 0)%2 == 1
}

func (m *retouchModel) listed(h filter.Hash) bool {
	revoked := false
	for _, num := range m.live() {
		g := m.generations[num]
		revoked = revoked || m.isRevoked(g, h)
		if found(bloomdbtest.SettingsOf(m.db).SpamShape(), g.spam, h) && !m.hidden(num, h) {
			return !revoked
		}
	}
	return false
}

func (m *retouchModel) check(t *rapid.T) {
	for n := range retouchMessages {
		want := false
		for _, s := range bloomdbtest.Message(n).Signatures {
			want = want || m.listed(bloomdbtest.Ring.ReportHash(s))
		}
		if got := m.db.Judge(bloomdbtest.Message(n)).Listed; got != want {
			t.Fatalf("message %d: listed %v, want %v", n, got, want)
		}
	}
	for _, num := range m.live() {
		resting := map[filter.Hash]bool{}
		for pos, keys := range m.masked(num) {
			for _, h := range keys {
				resting[h] = true
				if !slices.Contains(bloomdbtest.SettingsOf(m.db).SpamShape().Positions(h, nil), pos) {
					t.Fatalf("generation %d: a key rests on bit %d, which is none of its own", num, pos)
				}
			}
		}
		if !maps.Equal(resting, m.generations[num].retouched) {
			t.Fatalf("generation %d: %d keys are retouched, want %d", num, len(resting), len(m.generations[num].retouched))
		}
	}
}

const retouchMessages = 20

// After any reports, revocations, retouches and deltas, and any crashes: a retouched key is not
// listed until this site reports it again, a reported one is, and nothing else changes except
// keys with a masked bit.
func TestRetouchModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := bloomdbtest.NewClock()
		m := &retouchModel{t: t, opt: crowded(t.TempDir(), "a", c), clock: c, generations: map[int64]*generationModel{}}
		m.opt.Exchange = false // so that the journal goes with each snapshot
		layout.SetDefaults(&m.opt.Reports, &m.opt.Counts, &m.opt.Domains)
		m.db = bloomdbtest.MustOpen(t, m.opt)
		defer func() { m.db.Close() }()
		m.now()
		anyMessage := rapid.IntRange(0, retouchMessages-1)
		rt.Repeat(map[string]func(*rapid.T){
			"":             m.check,
			"report":       func(rt *rapid.T) { m.report(rt, anyMessage.Draw(rt, "n")) },
			"retouch":      func(rt *rapid.T) { m.retouch(rt, anyMessage.Draw(rt, "n")) },
			"report there": func(rt *rapid.T) { m.receive(rt, layout.SpamFilter, anyMessage.Draw(rt, "n")) },
			"revoke there": func(rt *rapid.T) { m.receive(rt, layout.RevokedFilter, rapid.IntRange(0, 2).Draw(rt, "n")) },
			"revoke": func(rt *rapid.T) {
				n := rapid.IntRange(0, 2).Draw(rt, "n")
				rungs := m.rungsOf(n, true)
				if m.add(rt, m.now().revoked["a"], n, m.db.Revoke(bloomdbtest.Message(n))) {
					maps.Copy(m.now().ladder["a"], rungs)
				}
			},
			"rest": func(rt *rapid.T) {
				m.rest(rt, rapid.SampledFrom(restWhat).Draw(rt, "what"))
			},
		})
	})
}

// add records a message's keys, unless the report was rejected because the filter is full.
func (m *retouchModel) add(rt *rapid.T, keys map[filter.Hash]bool, n int, err error) (ok bool) {
	if errors.Is(err, layout.ErrFull) {
		return false
	}
	if err != nil {
		rt.Fatal(err)
	}
	for _, s := range bloomdbtest.Message(n).Signatures {
		keys[bloomdbtest.Ring.ReportHash(s)] = true
	}
	return true
}

func (m *retouchModel) report(rt *rapid.T, n int) {
	g, num := m.now(), bloomdbtest.Settings(m.opt).Generation(layout.SpamFilter, m.clock.Now())
	rungs := m.rungsOf(n, false)
	if !m.add(rt, g.spam["a"], n, m.db.Report(bloomdbtest.Message(n), layout.ClassOther)) {
		return
	}
	maps.Copy(g.ladder["a"], rungs)
	for _, s := range bloomdbtest.Message(n).Signatures {
		h := bloomdbtest.Ring.ReportHash(s)
		if delete(g.retouched, h); m.hidden(num, h) {
			rt.Fatalf("message %d was reported here, and is hidden", n)
		}
	}
}

// rungsOf are the keys that a report or a revocation writes in the ladder.
func (m *retouchModel) rungsOf(n int, revoke bool) map[filter.Hash]bool {
	keys := map[filter.Hash]bool{}
	for _, s := range bloomdbtest.Message(n).Signatures {
		h := bloomdbtest.Ring.ReportHash(s)
		for _, r := range rungsUpTo(above(m.hasRung(m.now(), h), 0, 0, revoke))[1:] {
			keys[keyring.Stretch(keyring.RungSeed(h, r))] = true
		}
	}
	return keys
}

// receive applies a delta in which the other site reports or revokes a message.
func (m *retouchModel) receive(rt *rapid.T, kind layout.Kind, n int) {
	shape, keys := bloomdbtest.SettingsOf(m.db).SpamShape(), m.now().spam["b"]
	if kind == layout.RevokedFilter {
		shape, keys = bloomdbtest.SettingsOf(m.db).RevokedShape(), m.now().revoked["b"]
	}
	sec := wire.DeltaSection{Target: layout.Target{Kind: kind, Gen: bloomdbtest.Settings(m.opt).Generation(kind, m.clock.Now())}, Shape: layout.BitsShape(shape)}
	var positions []uint64
	for _, s := range bloomdbtest.Message(n).Signatures {
		positions = shape.Positions(bloomdbtest.Ring.ReportHash(s), positions)
	}
	slices.Sort(positions)
	for _, pos := range slices.Compact(positions) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 1})
	}
	d := wire.Delta{Site: "b", Epoch: 2, Seq: uint64(len(m.sent)) + 1}
	d.Data = sealer(m.db).EncodeDelta(d, 0, []wire.DeltaSection{sec})
	if m.add(rt, keys, n, m.db.Apply(d.Data, peers.Next)) {
		m.sent = append(m.sent, d)
	}
}

func (m *retouchModel) retouch(rt *rapid.T, n int) {
	plan, err := m.db.PlanRetouch(bloomdbtest.Message(n))
	if err != nil {
		rt.Fatal(err)
	}
	done, err := m.db.Retouch(bloomdbtest.Message(n))
	if err != nil {
		rt.Fatal(err)
	}
	if !slices.Equal(plan.Listings, done.Listings) || plan.Loss != done.Loss {
		rt.Fatalf("planned %+v, done %+v", plan, done)
	}
	for _, s := range bloomdbtest.Message(n).Signatures {
		h := bloomdbtest.Ring.ReportHash(s)
		for _, num := range m.live() {
			g := m.generations[num]
			if m.isRevoked(g, h) {
				break
			}
			if found(bloomdbtest.SettingsOf(m.db).SpamShape(), g.spam, h) {
				g.retouched[h] = true
			}
		}
	}
	if m.db.Judge(bloomdbtest.Message(n)).Listed {
		rt.Fatalf("message %d is listed after its retouch", n)
	}
}

// restWhat is mostly "nothing", because the disk is slow.
var restWhat = []string{"", "", "", "save", "kill", "close", "period"}

func (m *retouchModel) rest(rt *rapid.T, what string) {
	switch what {
	case "":
	case "save":
		if err := m.db.Save(); err != nil {
			rt.Fatal(err)
		}
	case "period":
		m.clock.Add(168 * time.Hour)
		m.now()
	default:
		m.stop(rt, what == "kill")
	}
}

// stop ends the database, like kill -9 or by Close, and opens it again. The other site's
// records that it has lost are sent again.
func (m *retouchModel) stop(rt *rapid.T, kill bool) {
	if err := m.db.Check(); err != nil {
		rt.Fatal(err)
	}
	before := m.allMasked()
	if kill {
		crash(m.t, m.db)
	} else if err := m.db.Close(); err != nil {
		rt.Fatal(err)
	}
	m.db = bloomdbtest.MustOpen(m.t, m.opt)
	bloomdbtest.Apply(m.t, m.db, m.sent...)
	same := func(a, b map[uint64][]filter.Hash) bool { return maps.EqualFunc(a, b, slices.Equal) }
	if after := m.allMasked(); !maps.EqualFunc(before, after, same) {
		rt.Fatalf("masked before the stop: %v, after: %v", before, after)
	}
}

func (m *retouchModel) allMasked() map[int64]map[uint64][]filter.Hash {
	all := map[int64]map[uint64][]filter.Hash{}
	for _, num := range m.live() {
		if bits := m.masked(num); len(bits) > 0 {
			all[num] = bits
		}
	}
	return all
}
