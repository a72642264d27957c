package peers_test

import (
	"errors"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace/keyspacetest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// sendCounts applies a delta with counts in an epoch of its own.
func (s *sender) sendCounts(t *testing.T, to *peers.Peers, epoch, lines uint64, spam, counts []filter.Cell) error {
	t.Helper()
	d := wire.Delta{Site: "b", Epoch: epoch, Seq: 1}
	d.Data = s.ks.Sealer.EncodeDelta(d, 0, []wire.DeltaSection{
		{Target: current(s.ks, layout.SpamFilter), Shape: s.shape(layout.SpamFilter), Cells: spam},
		{Target: current(s.ks, layout.CountFilter), Shape: layout.CountsShape(filter.CountsShape{Lines: lines}), Cells: counts},
	})
	return to.Apply(d.Data, peers.Skipped)
}

// A member sends one count for all messages in each of its epochs, and these are added.
func TestCountsOfAllEpochs(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	var cells []filter.Cell
	for i := range uint64(128) {
		cells = append(cells, filter.Cell{Pos: i, Value: 14})
	}
	testenv.Check(t, s.sendCounts(t, a.Peers, 2, 1, nil, cells))
	testenv.Check(t, s.sendCounts(t, a.Peers, 3, 1, nil, cells)) // continues with the same
	if err := s.sendCounts(t, a.Peers, 4, 1, nil, cells); !errors.Is(err, wire.ErrCapped) {
		t.Errorf("another epoch: %v", err)
	}
	sum := uint32(0)
	for _, c := range a.Store.View.Load().Counted(nil, 0, randomHash(), "a") {
		sum += c.Count
	}
	if sum != 14 {
		t.Errorf("a message that nobody has counted has count %d, want 14", sum)
	}
}

// An epoch with counts of another capacity does not end the daemon, and its reports are joined.
func TestCountsOfAnotherCapacity(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	one := []filter.Cell{{Pos: 0, Value: 14}}
	testenv.Check(t, s.sendCounts(t, a.Peers, 2, 1, nil, one))
	testenv.Check(t, s.sendCounts(t, a.Peers, 4, 1<<20, one[:1], []filter.Cell{{Pos: 1 << 26, Value: 15}}))
	spam, _ := a.Store.View.Load().Joined(current(a, layout.SpamFilter))
	counts, _ := a.Store.View.Load().Joined(current(a, layout.CountFilter))
	if cellsOf(spam) != 1 || cellsOf(counts) != 1 {
		t.Errorf("%d bits and %d counts are held, want 1 and 1", cellsOf(spam), cellsOf(counts))
	}
}

// The counts of all epochs together are within the cap of their site.
func TestCapOnCountsOfAllEpochs(t *testing.T) {
	a, s := open(t, "a", wire.Members{"b": {MaxCounts: 50}}), newSender(t)
	for epoch := range uint64(4) {
		var cells []filter.Cell
		for i := range uint64(90) {
			cells = append(cells, filter.Cell{Pos: i * 130, Value: 1})
		}
		err := s.sendCounts(t, a.Peers, 2+2*epoch, 100, nil, cells)
		if isOver := epoch >= 2; errors.Is(err, wire.ErrCapped) != isOver { // 90 cells of 200 in each
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
}

// A member sends a few counts of the largest shape in each of its epochs. Its data is written without
// reading all their blocks, see TestWriteReadsNoEmptyBlock, and is whole after a restart.
func TestFewCountsOfTheLargestShape(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	for epoch := range uint64(peers.MaxEpochs) {
		last := filter.CountsShape{Lines: filter.MaxLines}.Size() - 1
		testenv.Check(t, s.sendCounts(t, a.Peers, epoch+2, filter.MaxLines, nil, []filter.Cell{{Pos: 1 + epoch, Value: 3}, {Pos: last, Value: 2}}))
	}
	testenv.Check(t, a.Save())
	c := keyspacetest.Config(a.Settings.Dir, "a", a.Settings.Now)
	testenv.Check(t, a.Close())
	counts, _ := keyspacetest.Open(t, c).Store.View.Load().Joined(current(a, layout.CountFilter))
	if n := cellsOf(counts); n != 2*peers.MaxEpochs {
		t.Errorf("%d counts are held after a restart, want %d", n, 2*peers.MaxEpochs)
	}
}

// A site that loses its folder ever again is heard in each of its epochs. Its earlier reports are kept, also
// after a restart, and all together are within its cap.
func TestEarlierEpochsAreUnited(t *testing.T) {
	const epochs, each = 3 * peers.MaxEpochs, 10
	c := keyspacetest.NewClock()
	config := keyspacetest.Config(t.TempDir(), "a", c.Now)
	config.Members = wire.Members{"b": {MaxReports: 80}}
	a, s := keyspacetest.Open(t, config), newSender(t)
	send := func(epoch uint64, kind layout.Kind) error {
		return s.send(a, layout.Origin{Site: "b", Epoch: 2 + 1000*epoch}, kind, epoch*each, each)
	}
	for epoch := range uint64(epochs) {
		for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter} {
			testenv.Check(t, send(epoch, kind))
		}
		if epoch%7 == 6 { // parts that are on disk are united, too
			testenv.Check(t, a.Save())
		}
	}
	for _, how := range []string{"before", "after"} {
		for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter} {
			parts, others := a.Store.View.Load().Joined(current(a, kind))
			if n := cellsOf(parts); n != epochs*each || others.Ones() != n || len(parts) != peers.MaxEpochs {
				t.Errorf("%s a restart: %s has %d bits in %d epochs, joined %d; want %d", how, kind, n, len(parts), others.Ones(), epochs*each)
			}
		}
		if how == "before" {
			testenv.Check(t, a.Close())
			a = keyspacetest.Open(t, config)
		}
	}
	most := uint64(a.Peers.SiteCap("b", current(a, layout.SpamFilter), s.shape(layout.SpamFilter)))
	full := s.send(a, layout.Origin{Site: "b", Epoch: 1 << 20}, layout.SpamFilter, epochs*each, most-epochs*each)
	over := s.send(a, layout.Origin{Site: "b", Epoch: 1<<20 + 1000}, layout.SpamFilter, most, 1)
	if full != nil || !errors.Is(over, wire.ErrCapped) {
		t.Errorf("up to the cap of %d bits: %v; beyond: %v", most, full, over)
	}
}
