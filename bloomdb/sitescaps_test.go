package bloomdb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// sender makes records of other sites as the test wants them.
type sender struct {
	t   testing.TB
	db  *bloomdb.DB // of the same federation, for its key and shapes
	seq map[layout.Origin]uint64
}

func newSender(t testing.TB) *sender {
	return &sender{t, bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "sender")), make(map[layout.Origin]uint64)}
}

// send has a site tell n bits or cells from a position on.
func (s *sender) send(to *bloomdb.DB, o layout.Origin, kind layout.Kind, from, n uint64) error {
	shape := s.shape(kind)
	sec := wire.DeltaSection{Target: layout.Target{Kind: kind, Gen: s.db.Keyspace().Settings.Generation(kind, s.db.Keyspace().Settings.Now())}, Shape: shape}
	for pos := from; pos < from+n; pos++ {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 1})
	}
	s.seq[o]++
	d := wire.Delta{Site: o.Site, Epoch: o.Epoch, Seq: s.seq[o]}
	d.Data = s.db.Keyspace().Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
	return to.Apply(d.Data, peers.Skipped)
}

// A site that sends more than its cap is refused, in this generation and kind of filter
// and in no other, and the others find all the room they need.
func TestCaps(t *testing.T) {
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter, layout.CountFilter} {
		o := bloomdbtest.Options(t.TempDir(), "a")
		o.Members = wire.Members{"b": {MaxCounts: 100}, "c": {MaxCounts: 100}, "d": {MaxReports: 10, MaxCounts: 10}}
		a, s := bloomdbtest.Open(t, o), newSender(t)
		t.Run(kind.String(), func(t *testing.T) {
			now := layout.Target{Kind: kind, Gen: a.Keyspace().Settings.Generation(kind, a.Keyspace().Settings.Now())}
			most := uint64(a.Keyspace().Peers.SiteCap("b", now, s.shape(kind)))
			b, c, d := layout.Origin{Site: "b", Epoch: 2}, layout.Origin{Site: "c", Epoch: 2}, layout.Origin{Site: "d", Epoch: 2}
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
			if !errors.Is(err, wire.ErrCapped) || !strings.Contains(err.Error(), fmt.Sprintf("delta b 2-3: %s generation %d", kind, now.Gen)) {
				t.Errorf("over the cap: %v", err)
			}
			if err := s.send(a, b, kind, 0, 1); !errors.Is(err, wire.ErrCapped) {
				t.Errorf("after that: %v", err)
			}
			if st := a.Status().Sites[1]; !st.Capped {
				t.Errorf("status %+v", st)
			}
			other := layout.CountFilter
			if kind == layout.CountFilter {
				other = layout.SpamFilter
			}
			if err := s.send(a, b, other, 0, 10); err != nil {
				t.Errorf("another kind: %v", err)
			}
			if err := s.send(a, c, kind, 5, most-1); err != nil {
				t.Errorf("another site: %v", err)
			}
			small := uint64(a.Keyspace().Peers.SiteCap("d", now, s.shape(kind)))
			if err := s.send(a, d, kind, 0, small+1); small >= most || !errors.Is(err, wire.ErrCapped) {
				t.Errorf("a site with a smaller cap, %d and not %d: %v", small, most, err)
			}
		})
	}
}

func (s *sender) shape(kind layout.Kind) layout.Shape {
	switch kind {
	case layout.CountFilter:
		return layout.CountsShape(s.db.Keyspace().Store.CountsShape)
	case layout.RevokedFilter:
		return layout.BitsShape(s.db.Keyspace().Store.RevokedShape)
	case layout.SketchFilter:
		return layout.BitsShape(s.db.Keyspace().Store.SketchShape)
	}
	return layout.BitsShape(s.db.Keyspace().Store.SpamShape)
}

// One site, in however many lives, leaves half of a generation to the others. A life
// that repeats an earlier one has not used the more for it.
func TestCapOfLives(t *testing.T) {
	a, s := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), newSender(t)
	now := layout.Target{Kind: layout.SpamFilter, Gen: a.Keyspace().Settings.Generation(layout.SpamFilter, a.Keyspace().Settings.Now())}
	most := uint64(a.Keyspace().Peers.SiteCap("b", now, s.shape(layout.SpamFilter)))
	for life := range uint64(5) {
		if err := s.send(a, layout.Origin{Site: "b", Epoch: 2 + 2*life}, layout.SpamFilter, 0, most*3/4); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
	}
	if st := a.Status().Sites[1]; st.Capped || st.Fill["spam"] > 0.77 {
		t.Errorf("status %+v", st)
	}
	accepted := uint64(0)
	for life := range uint64(5) {
		if s.send(a, layout.Origin{Site: "b", Epoch: 20 + 2*life}, layout.SpamFilter, most*3/4+accepted, most/10) == nil {
			accepted += most / 10
		}
	}
	if accepted < most/10 || accepted > most/4 {
		t.Errorf("%d bits more of %d", accepted, most)
	}
	g := a.Keyspace().Store.View.Load().Report(now.Gen)
	if ones := uint64(g.Spam.Others.Ones()); ones > most {
		t.Errorf("one site has set %d bits, at most %d", ones, most)
	}
	if err := s.send(a, layout.Origin{Site: "c", Epoch: 2}, layout.SpamFilter, most, most); err != nil {
		t.Errorf("another site finds no room: %v", err)
	}
}

// The next generation begins with nothing used.
func TestCapOfNextGeneration(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Now = c.Now
	a, s := bloomdbtest.Open(t, o), newSender(t)
	b := layout.Origin{Site: "b", Epoch: 2}
	most := uint64(a.Keyspace().Peers.SiteCap("b", layout.Target{Kind: layout.SpamFilter}, s.shape(layout.SpamFilter)))
	if err := s.send(a, b, layout.SpamFilter, 0, most+1); !errors.Is(err, wire.ErrCapped) {
		t.Fatal(err)
	}
	c.Add(168 * time.Hour)
	s.db.Keyspace().Settings.Now = c.Now
	if err := s.send(a, b, layout.SpamFilter, 0, most); err != nil {
		t.Error(err)
	}
	c.Add(400 * 24 * time.Hour)
	for range store.KeepAged {
		a.Keyspace().Expire()
	}
	if len(a.Keyspace().Peers.Uses) > 0 {
		t.Errorf("%d uses of generations that aged out are remembered", len(a.Keyspace().Peers.Uses))
	}
}

// A snapshot's chunks are held to the same caps as deltas.
func TestCapOfSnapshot(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Members = wire.Members{"b": {MaxReports: 5}}
	a := bloomdbtest.Open(t, o)
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for n := range 200 {
		bloomdbtest.Report(t, b, n)
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
	if !errors.Is(err, wire.ErrCapped) {
		t.Errorf("200 messages of a site that may have 5: %v", err)
	}
}

// A site that takes all it can get leaves the others their shares. Cells in blocks of
// their own take the most memory.
func TestSiteThatTakesAllMemory(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Members = wire.Members{"greedy": {MaxCounts: layout.MaxCounted}, "b": {}, "c": {}}
	a, s := bloomdbtest.Open(t, o), newSender(t)
	a.Keyspace().Peers.LeastParts = 16 << 20
	sec := wire.DeltaSection{
		Target: layout.Target{Kind: layout.CountFilter, Gen: a.Keyspace().Settings.Generation(layout.CountFilter, a.Keyspace().Settings.Now())},
		Shape:  layout.CountsShape(filter.CountsShape{Lines: filter.MaxLines}),
	}
	for i := range uint64(outbox.MaxDeltaCells / 4) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: i * filter.BlockSize(true) * 40, Value: 1})
	}
	var err error
	for seq := uint64(1); err == nil && seq < 40; seq++ {
		d := wire.Delta{Site: "greedy", Epoch: 2, Seq: seq}
		d.Data = s.db.Keyspace().Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
		err = a.Apply(d.Data, peers.Skipped)
		for i := range sec.Cells {
			sec.Cells[i].Pos += filter.BlockSize(true)
		}
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Fatalf("%d MiB: %v", a.Status().Memory>>20, err)
	}
	if st := a.Status().Sites[1]; st.Memory > a.Keyspace().Peers.PartsLimit()/2 || st.Memory < a.Keyspace().Peers.PartsLimit()/4 {
		t.Errorf("one site has %d MiB of %d", st.Memory>>20, a.Keyspace().Peers.PartsLimit()>>20)
	}
	for _, site := range []string{"b", "c"} {
		d := wire.Delta{Site: site, Epoch: 2, Seq: 1}
		d.Data = s.db.Keyspace().Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
		if err := a.Apply(d.Data, peers.Next); err != nil {
			t.Errorf("site %s: %v", site, err)
		}
	}
}
