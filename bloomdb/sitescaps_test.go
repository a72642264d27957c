package bloomdb

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// sender makes records of other sites as the test wants them.
type sender struct {
	t   testing.TB
	db  *DB // of the same federation, for its key and shapes
	seq map[origin]uint64
}

func newSender(t testing.TB) *sender {
	return &sender{t, openTest(t, testOptions(t.TempDir(), "sender")), make(map[origin]uint64)}
}

// send has a site tell n bits or cells from a position on.
func (s *sender) send(to *DB, o origin, kind filterKind, from, n uint64) error {
	shape := s.shape(kind)
	sec := deltaSection{target: target{kind, s.db.ks.opt.generation(kind, s.db.ks.opt.Now())}, shape: shape}
	for pos := from; pos < from+n; pos++ {
		sec.cells = append(sec.cells, filter.Cell{Pos: pos, Value: 1})
	}
	s.seq[o]++
	d := Delta{Site: o.site, Epoch: o.epoch, Seq: s.seq[o]}
	d.Data = s.db.ks.sealer.encodeDelta(d, 0, []deltaSection{sec})
	return to.Apply(d.Data, Skipped)
}

// A site that sends more than its cap is refused, in this generation and kind of filter
// and in no other, and the others find all the room they need.
func TestCaps(t *testing.T) {
	for _, kind := range []filterKind{spamFilter, revokedFilter, sketchFilter, countFilter} {
		o := testOptions(t.TempDir(), "a")
		o.Members = Members{"b": {MaxCounts: 100}, "c": {MaxCounts: 100}, "d": {MaxReports: 10, MaxCounts: 10}}
		a, s := openTest(t, o), newSender(t)
		t.Run(kind.String(), func(t *testing.T) {
			now := target{kind, a.ks.opt.generation(kind, a.ks.opt.Now())}
			most := uint64(a.ks.peers.siteCap("b", now, s.shape(kind)))
			b, c, d := origin{"b", 2}, origin{"c", 2}, origin{"d", 2}
			if err := s.send(a, b, kind, 0, most-1); err != nil {
				t.Fatal(err)
			}
			if err := s.send(a, b, kind, 0, most-1); err != nil {
				t.Errorf("the same again: %v", err)
			}
			if st := a.Status().Sites[1]; st.Capped || st.Fill[kind.String()] < 0.9 {
				t.Errorf("status %+v", st)
			}
			err := s.send(a, b, kind, most-1, 2)
			if !errors.Is(err, ErrCapped) || !strings.Contains(err.Error(), fmt.Sprintf("delta b 2-3: %s generation %d", kind, now.gen)) {
				t.Errorf("over the cap: %v", err)
			}
			if err := s.send(a, b, kind, 0, 1); !errors.Is(err, ErrCapped) {
				t.Errorf("after that: %v", err)
			}
			if st := a.Status().Sites[1]; !st.Capped {
				t.Errorf("status %+v", st)
			}
			other := countFilter
			if kind == countFilter {
				other = spamFilter
			}
			if err := s.send(a, b, other, 0, 10); err != nil {
				t.Errorf("another kind: %v", err)
			}
			if err := s.send(a, c, kind, 5, most-1); err != nil {
				t.Errorf("another site: %v", err)
			}
			small := uint64(a.ks.peers.siteCap("d", now, s.shape(kind)))
			if err := s.send(a, d, kind, 0, small+1); small >= most || !errors.Is(err, ErrCapped) {
				t.Errorf("a site with a smaller cap, %d and not %d: %v", small, most, err)
			}
		})
	}
}

func (s *sender) shape(kind filterKind) shape {
	switch kind {
	case countFilter:
		return countsShape(s.db.ks.store.countsShape)
	case revokedFilter:
		return bitsShape(s.db.ks.store.revokedShape)
	case sketchFilter:
		return bitsShape(s.db.ks.store.sketchShape)
	}
	return bitsShape(s.db.ks.store.spamShape)
}

// One site, in however many lives, leaves half of a generation to the others. A life
// that repeats an earlier one has not used the more for it.
func TestCapOfLives(t *testing.T) {
	a, s := openTest(t, testOptions(t.TempDir(), "a")), newSender(t)
	now := target{spamFilter, a.ks.opt.generation(spamFilter, a.ks.opt.Now())}
	most := uint64(a.ks.peers.siteCap("b", now, s.shape(spamFilter)))
	for life := range uint64(5) {
		if err := s.send(a, origin{"b", 2 + 2*life}, spamFilter, 0, most*3/4); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
	}
	if st := a.Status().Sites[1]; st.Capped || st.Fill["spam"] > 0.77 {
		t.Errorf("status %+v", st)
	}
	accepted := uint64(0)
	for life := range uint64(5) {
		if s.send(a, origin{"b", 20 + 2*life}, spamFilter, most*3/4+accepted, most/10) == nil {
			accepted += most / 10
		}
	}
	if accepted < most/10 || accepted > most/4 {
		t.Errorf("%d bits more of %d", accepted, most)
	}
	g := a.ks.store.view.Load().report(now.gen)
	if ones := uint64(g.spam.others.Ones()); ones > most {
		t.Errorf("one site has set %d bits, at most %d", ones, most)
	}
	if err := s.send(a, origin{"c", 2}, spamFilter, most, most); err != nil {
		t.Errorf("another site finds no room: %v", err)
	}
}

// The next generation begins with nothing used.
func TestCapOfNextGeneration(t *testing.T) {
	c := newClock()
	o := testOptions(t.TempDir(), "a")
	o.Now = c.Now
	a, s := openTest(t, o), newSender(t)
	b := origin{"b", 2}
	most := uint64(a.ks.peers.siteCap("b", target{kind: spamFilter}, s.shape(spamFilter)))
	if err := s.send(a, b, spamFilter, 0, most+1); !errors.Is(err, ErrCapped) {
		t.Fatal(err)
	}
	c.add(168 * time.Hour)
	s.db.ks.opt.Now = c.Now
	if err := s.send(a, b, spamFilter, 0, most); err != nil {
		t.Error(err)
	}
	c.add(400 * 24 * time.Hour)
	for range keepAged {
		a.ks.expire()
	}
	if len(a.ks.peers.uses) > 0 {
		t.Errorf("%d uses of generations that aged out are remembered", len(a.ks.peers.uses))
	}
}

// A snapshot's chunks are held to the same caps as deltas.
func TestCapOfSnapshot(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	o.Members = Members{"b": {MaxReports: 5}}
	a := openTest(t, o)
	b := openTest(t, testOptions(t.TempDir(), "b"))
	for n := range 200 {
		mustReport(t, b, n)
	}
	w := b.NewSnapshot()
	var err error
	var chunks [][]byte
	for {
		chunk, ok, e := w.Next()
		if e != nil {
			t.Fatal(e)
		}
		if !ok {
			break
		}
		chunks = append(chunks, chunk)
	}
	m, e := a.ReadManifest(w.Manifest(0))
	if e != nil {
		t.Fatal(e)
	}
	for i, chunk := range chunks {
		err = errors.Join(err, a.ApplyChunk(m, i, chunk))
	}
	if !errors.Is(err, ErrCapped) {
		t.Errorf("200 messages of a site that may have 5: %v", err)
	}
}

// Whatever sites ask for: they stay within the limit in all, and one that is within its
// share is never refused.
func TestMemoryIsShared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const limit = 1 << 20
		use := make(memoryUse)
		sites := rapid.IntRange(1, 12).Draw(rt, "sites")
		for i := range sites {
			use[fmt.Sprint(i)] = 0
		}
		share := int64(limit / 2 / sites)
		for range rapid.IntRange(1, 200).Draw(rt, "records") {
			site := fmt.Sprint(rapid.IntRange(0, sites-1).Draw(rt, "site"))
			need := rapid.Int64Range(1, limit/4).Draw(rt, "need")
			err := use.room(limit, site, need)
			if err == nil {
				use[site] += need
			} else if use[site]+need <= share {
				rt.Fatalf("site %s has %d, its share is %d: %v", site, use[site], share, err)
			}
			total := int64(0)
			for name, n := range use {
				if total += n; sites > 1 && n > limit/2 {
					rt.Fatalf("site %s has %d of %d", name, n, limit)
				}
			}
			if total > limit {
				rt.Fatalf("all have %d of %d", total, limit)
			}
		}
	})
}

// A site that takes all it can get leaves the others their shares. Cells in blocks of
// their own take the most memory.
func TestSiteThatTakesAllMemory(t *testing.T) {
	o := testOptions(t.TempDir(), "a")
	o.Members = Members{"greedy": {MaxCounts: maxCounted}, "b": {}, "c": {}}
	a, s := openTest(t, o), newSender(t)
	a.ks.peers.leastParts = 16 << 20
	sec := deltaSection{
		target: target{countFilter, a.ks.opt.generation(countFilter, a.ks.opt.Now())},
		shape:  countsShape(filter.CountsShape{Lines: filter.MaxLines}),
	}
	for i := range uint64(maxDeltaCells / 4) {
		sec.cells = append(sec.cells, filter.Cell{Pos: i * filter.BlockSize(true) * 40, Value: 1})
	}
	var err error
	for seq := uint64(1); err == nil && seq < 40; seq++ {
		d := Delta{Site: "greedy", Epoch: 2, Seq: seq}
		d.Data = s.db.ks.sealer.encodeDelta(d, 0, []deltaSection{sec})
		err = a.Apply(d.Data, Skipped)
		for i := range sec.cells {
			sec.cells[i].Pos += filter.BlockSize(true)
		}
	}
	if !errors.Is(err, ErrFull) {
		t.Fatalf("%d MiB: %v", a.Status().Memory>>20, err)
	}
	if st := a.Status().Sites[1]; st.Memory > a.ks.peers.partsLimit()/2 || st.Memory < a.ks.peers.partsLimit()/4 {
		t.Errorf("one site has %d MiB of %d", st.Memory>>20, a.ks.peers.partsLimit()>>20)
	}
	for _, site := range []string{"b", "c"} {
		d := Delta{Site: site, Epoch: 2, Seq: 1}
		d.Data = s.db.ks.sealer.encodeDelta(d, 0, []deltaSection{sec})
		if err := a.Apply(d.Data, Next); err != nil {
			t.Errorf("site %s: %v", site, err)
		}
	}
}
