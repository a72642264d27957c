package peers_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/status"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// open opens the keyspace of a site.
func open(t testing.TB, site string, members wire.Members) *keyspace.Keyspace {
	t.Helper()
	c := keyspacetest.Config(t.TempDir(), site, keyspacetest.NewClock().Now)
	c.Members = members
	return keyspacetest.Open(t, c)
}

// sender makes deltas of other sites.
type sender struct {
	ks  *keyspace.Keyspace // has the key and the shapes of the federation
	seq map[layout.Origin]uint64
}

func newSender(t testing.TB) *sender {
	return &sender{open(t, "sender", nil), make(map[layout.Origin]uint64)}
}

// send applies a delta in which a site sets n bits or cells, beginning with a number. Consecutive
// numbers are far apart, as those of messages are.
func (s *sender) send(to *keyspace.Keyspace, o layout.Origin, kind layout.Kind, from, n uint64) error {
	const apart = 1_000_003 // a prime, so that no position is taken twice
	var cells []filter.Cell
	for i := from; i < from+n; i++ {
		cells = append(cells, filter.Cell{Pos: i * apart % s.shape(kind).Size(kind), Value: 1})
	}
	slices.SortFunc(cells, func(a, b filter.Cell) int { return cmp.Compare(a.Pos, b.Pos) })
	return s.sendCells(to, o, kind, cells)
}

func (s *sender) sendCells(to *keyspace.Keyspace, o layout.Origin, kind layout.Kind, cells []filter.Cell) error {
	sec := wire.DeltaSection{Target: layout.Target{Kind: kind, Gen: s.ks.Settings.Generation(kind, s.ks.Settings.Now())}, Shape: s.shape(kind), Cells: cells}
	s.seq[o]++
	d := wire.Delta{Site: o.Site, Epoch: o.Epoch, Seq: s.seq[o]}
	d.Data = s.ks.Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
	return to.Peers.Apply(d.Data, peers.Skipped)
}

// The records of a site over its cap are rejected, in that generation and kind of filter only.
// Other sites have all the room they need.
func TestCaps(t *testing.T) {
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter, layout.CountFilter} {
		a, s := open(t, "a", wire.Members{"b": {MaxCounts: 100}, "c": {MaxCounts: 100}, "d": {MaxReports: 10, MaxCounts: 10}}), newSender(t)
		t.Run(kind.String(), func(t *testing.T) {
			now := layout.Target{Kind: kind, Gen: a.Settings.Generation(kind, a.Settings.Now())}
			most := uint64(a.Peers.SiteCap("b", now, s.shape(kind)))
			b, c, d := layout.Origin{Site: "b", Epoch: 2}, layout.Origin{Site: "c", Epoch: 2}, layout.Origin{Site: "d", Epoch: 2}
			if err := s.send(a, b, kind, 0, most-1); err != nil {
				t.Fatal(err)
			}
			if err := s.send(a, b, kind, 0, most-1); err != nil {
				t.Errorf("sent again: %v", err)
			}
			if st := status.Of(a).Sites[1]; st.Capped || st.Fill[kind.String()] < 0.9 {
				t.Errorf("status %+v", st)
			}
			err := s.send(a, b, kind, most-1, 2)
			if !errors.Is(err, wire.ErrCapped) || !strings.Contains(err.Error(), fmt.Sprintf("delta b 2-3: %s generation %d", kind, now.Gen)) {
				t.Errorf("over the cap: %v", err)
			}
			if err := s.send(a, b, kind, 0, 1); !errors.Is(err, wire.ErrCapped) {
				t.Errorf("after that: %v", err)
			}
			if st := status.Of(a).Sites[1]; !st.Capped {
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
			small := uint64(a.Peers.SiteCap("d", now, s.shape(kind)))
			if err := s.send(a, d, kind, 0, small+1); small >= most || !errors.Is(err, wire.ErrCapped) {
				t.Errorf("a site with a smaller cap, %d and not %d: %v", small, most, err)
			}
		})
	}
}

func (s *sender) shape(kind layout.Kind) layout.Shape {
	switch kind {
	case layout.CountFilter:
		return layout.CountsShape(s.ks.Settings.CountsShape())
	case layout.RevokedFilter:
		return layout.BitsShape(s.ks.Settings.RevokedShape())
	case layout.SketchFilter:
		return layout.BitsShape(s.ks.Settings.SketchShape())
	}
	return layout.BitsShape(s.ks.Settings.SpamShape())
}

// One site, in any number of epochs, leaves half of a generation to the others. An epoch that
// repeats an earlier one uses nothing more of the cap.
func TestCapOfEpochs(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	now := layout.Target{Kind: layout.SpamFilter, Gen: a.Settings.Generation(layout.SpamFilter, a.Settings.Now())}
	most := uint64(a.Peers.SiteCap("b", now, s.shape(layout.SpamFilter)))
	for n := range uint64(5) {
		if err := s.send(a, layout.Origin{Site: "b", Epoch: 2 + 2*n}, layout.SpamFilter, 0, most*3/4); err != nil {
			t.Fatalf("epoch %d: %v", n, err)
		}
	}
	if st := status.Of(a).Sites[1]; st.Capped || st.Fill["spam"] > 0.77 {
		t.Errorf("status %+v", st)
	}
	accepted := uint64(0)
	for n := range uint64(5) {
		if s.send(a, layout.Origin{Site: "b", Epoch: 20 + 2*n}, layout.SpamFilter, most*3/4+accepted, most/10) == nil {
			accepted += most / 10
		}
	}
	if accepted < most/10 || accepted > most/4 {
		t.Errorf("%d bits more of %d", accepted, most)
	}
	g := a.Store.View.Load().Report(now.Gen)
	if ones := uint64(g.Spam.Others.Ones()); ones > most {
		t.Errorf("one site has set %d bits, at most %d", ones, most)
	}
	if err := s.send(a, layout.Origin{Site: "c", Epoch: 2}, layout.SpamFilter, most, most); err != nil {
		t.Errorf("no room for another site: %v", err)
	}
}

// In the next generation, nothing of the cap is used.
func TestCapOfNextGeneration(t *testing.T) {
	c := keyspacetest.NewClock()
	a, s := keyspacetest.Open(t, keyspacetest.Config(t.TempDir(), "a", c.Now)), newSender(t)
	b := layout.Origin{Site: "b", Epoch: 2}
	most := uint64(a.Peers.SiteCap("b", layout.Target{Kind: layout.SpamFilter}, s.shape(layout.SpamFilter)))
	if err := s.send(a, b, layout.SpamFilter, 0, most+1); !errors.Is(err, wire.ErrCapped) {
		t.Fatal(err)
	}
	c.Add(168 * time.Hour)
	s.ks.Settings.Now = c.Now
	if err := s.send(a, b, layout.SpamFilter, 0, most); err != nil {
		t.Error(err)
	}
	c.Add(400 * 24 * time.Hour)
	for range layout.KeepExpired {
		a.Expire()
	}
	if n := a.Peers.Uses(); n > 0 {
		t.Errorf("the use of %d caps is stored for expired generations", n)
	}
}

// The caps apply to the chunks of a snapshot, too.
func TestCapOfSnapshot(t *testing.T) {
	a, b := open(t, "a", wire.Members{"b": {MaxReports: 5}}), open(t, "b", nil)
	for n := range 200 {
		if err := keyspacetest.Report(b, layout.SpamFilter, keyspacetest.Message(n)); err != nil {
			t.Fatal(err)
		}
	}
	w := b.Outbox.NewSnapshot()
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
	m, e := a.Sealer.ReadManifest(w.Manifest(0))
	if e != nil {
		t.Fatal(e)
	}
	for i, chunk := range chunks {
		err = errors.Join(err, a.Peers.ApplyChunk(m, i, chunk))
	}
	if !errors.Is(err, wire.ErrCapped) {
		t.Errorf("200 messages of a site that may have 5: %v", err)
	}
}

// A site that uses all the memory it can get leaves the others their shares. Cells use the most
// memory if each is in a block of its own.
func TestSiteThatTakesAllMemory(t *testing.T) {
	a, s := open(t, "a", wire.Members{"greedy": {MaxCounts: layout.MaxCounted}, "b": {}, "c": {}}), newSender(t)
	a.Peers.SetLeastParts(16 << 20)
	sec := wire.DeltaSection{
		Target: layout.Target{Kind: layout.CountFilter, Gen: a.Settings.Generation(layout.CountFilter, a.Settings.Now())},
		Shape:  layout.CountsShape(filter.CountsShape{Lines: filter.MaxLines}),
	}
	for i := range uint64(outbox.MaxDeltaCells / 4) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: i * filter.BlockSize(true) * 40, Value: 1})
	}
	var err error
	for seq := uint64(1); err == nil && seq < 40; seq++ {
		d := wire.Delta{Site: "greedy", Epoch: 2, Seq: seq}
		d.Data = s.ks.Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
		err = a.Peers.Apply(d.Data, peers.Skipped)
		for i := range sec.Cells {
			sec.Cells[i].Pos += filter.BlockSize(true)
		}
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Fatalf("%d MiB: %v", status.Of(a).Memory>>20, err)
	}
	if st := status.Of(a).Sites[1]; st.Memory > a.Peers.PartsLimit()/2 || st.Memory < a.Peers.PartsLimit()/4 {
		t.Errorf("one site has %d MiB of %d", st.Memory>>20, a.Peers.PartsLimit()>>20)
	}
	for _, site := range []string{"b", "c"} {
		d := wire.Delta{Site: site, Epoch: 2, Seq: 1}
		d.Data = s.ks.Sealer.EncodeDelta(d, 0, []wire.DeltaSection{sec})
		if err := a.Peers.Apply(d.Data, peers.Next); err != nil {
			t.Errorf("site %s: %v", site, err)
		}
	}
}

// A member cannot exceed the memory limit or the number of epochs. Sites whose data has expired
// are forgotten.
func TestBoundsOnMembers(t *testing.T) {
	c := keyspacetest.NewClock()
	a := keyspacetest.Open(t, keyspacetest.Config(t.TempDir(), "a", c.Now))
	send := func(site string, epoch uint64, sections ...wire.DeltaSection) error {
		d := wire.Delta{Site: site, Epoch: epoch, Seq: 1}
		d.Data = a.Sealer.EncodeDelta(d, 0, sections)
		return a.Peers.Apply(d.Data, peers.Next)
	}
	a.Peers.SetLeastParts(64 << 20)
	for n := range uint64(2 * peers.MaxEpochs) {
		if err := send("b", 2+2*n); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(status.Of(a).Sites); n != 1+peers.MaxEpochs {
		t.Errorf("%d epochs are stored", n-1)
	}
	sec := wire.DeltaSection{Target: layout.Target{Kind: layout.CountFilter, Gen: a.Settings.Generation(layout.CountFilter, c.Now())}, Shape: layout.CountsShape(filter.CountsShape{Lines: filter.MaxLines})}
	for i := range uint64(outbox.MaxDeltaCells) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: i * filter.BlockSize(true) * 40, Value: 1})
	}
	var err error
	for n := 0; n < 40 && err == nil; n++ {
		for i := range sec.Cells {
			sec.Cells[i].Pos += filter.BlockSize(true)
		}
		err = send(fmt.Sprintf("c%d", n), 2, sec)
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Errorf("parts of %d MiB: %v", status.Of(a).Memory>>20, err)
	}
	c.Add(400 * 24 * time.Hour)
	for range layout.KeepExpired {
		a.Expire()
	}
	if n := len(status.Of(a).Sites); n != 1 {
		t.Errorf("%d sites are stored, want only this one", n)
	}
}

// TestManyNames is the attack "many names": a holder of the federation key publishes under so
// many names that no further site has room. Naming the members with [[peer]] ends that: the old
// names are not trusted any more, and the members have room, whatever is still stored.
func TestManyNames(t *testing.T) {
	a := open(t, "a", nil)
	send := func(site string) error {
		d := wire.Delta{Site: site, Epoch: 2, Seq: 1}
		d.Data = a.Sealer.EncodeDelta(d, 0, nil)
		return a.Peers.Apply(d.Data, peers.Next)
	}
	var err error
	for n := 0; n < 5000 && err == nil; n++ {
		err = send(fmt.Sprint("fake", n))
	}
	if !errors.Is(err, layout.ErrFull) {
		t.Fatal(err)
	}
	if err := send("b"); !errors.Is(err, layout.ErrFull) {
		t.Fatal(err)
	}
	a.Sealer.Members = wire.Members{"b": {}}
	if err := send("b"); err != nil {
		t.Error(err)
	}
	if err := send("fake1"); !errors.Is(err, wire.ErrStranger) {
		t.Errorf("a name of before: %v", err)
	}
	a.Peers.Forget() // otherwise each name has a file when the keyspace is closed
}
