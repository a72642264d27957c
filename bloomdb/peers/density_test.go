package peers_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// current returns the filter of the current generation.
func current(ks *keyspace.Keyspace, kind layout.Kind) layout.Target {
	return layout.Target{Kind: kind, Gen: ks.Settings.Generation(kind, ks.Settings.Now())}
}

// errorOf returns the largest error of a site's parts.
func errorOf(ks *keyspace.Keyspace, t layout.Target) (most float64) {
	parts, _ := ks.Store.View.Load().Joined(t)
	for _, p := range parts {
		most = max(most, p.Part.Error(p.Shape.Bits()))
	}
	return most
}

// A member that puts as many bits as it may into each line, in two epochs, up to its cap, lists
// hardly more than one that fills the filter with reports.
func TestBitsUpToTheLimits(t *testing.T) {
	for kind, most := range map[layout.Kind]float64{layout.SpamFilter: 2e-5, layout.RevokedFilter: 1e-7, layout.SketchFilter: 0.04} {
		a, s := open(t, "a", nil), newSender(t)
		shape, now := s.shape(kind), current(a, kind)
		inLine, cap := a.Settings.MostInLine(kind, shape.Bits(), 0.5), a.Peers.SiteCap("b", now, shape)
		var cells []filter.Cell
		for line := uint64(0); line < shape.Lines && int64(line+1)*int64(inLine) <= cap; line++ {
			for i := range uint64(inLine) { // evenly in all sections
				cells = append(cells, filter.Cell{Pos: line*512 + i*512/uint64(inLine), Value: 1})
			}
		}
		for epoch := range uint64(2) {
			testenv.Check(t, s.sendCells(a, layout.Origin{Site: "b", Epoch: 2 + epoch}, kind, cells))
		}
		if err := s.sendCells(a, layout.Origin{Site: "b", Epoch: 3}, kind, []filter.Cell{{Pos: 1, Value: 1}, {Pos: 2, Value: 1}}); !errors.Is(err, wire.ErrCapped) {
			t.Errorf("%s: one more in a line: %v", kind, err)
		}
		if e := errorOf(a, now); e > most || e == 0 {
			t.Errorf("%s: error %.2g, want at most %.2g", kind, e, most)
		} else {
			t.Logf("%s: %d ones in a line, error %.2g", kind, inLine, e)
		}
	}
}

// The limits do not concern a site that fills its cap with reports, in one epoch after another.
func TestBitsOfReports(t *testing.T) {
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter, layout.CountFilter} {
		a, s := open(t, "a", nil), newSender(t)
		shape := s.shape(kind)
		var block func(uint64, []filter.Cell) []filter.Cell
		if kind.Counts() { // more than its capacity, each many times
			own, err := filter.NewCounts(shape.Counts())
			testenv.Check(t, err)
			for range 4000 {
				own.Add(randomHash(), 100)
			}
			block = own.Block
		} else {
			own, err := filter.NewBits(shape.Bits())
			testenv.Check(t, err)
			for most := a.Peers.SiteCap("b", current(a, kind), shape); own.Ones() < most-100; {
				own.Set(randomHash())
			}
			block = own.Block
		}
		for epoch := range uint64(2) {
			for i := range shape.Blocks(kind) {
				testenv.Check(t, s.sendCells(a, layout.Origin{Site: "b", Epoch: 2 + epoch}, kind, block(i, nil)))
			}
		}
	}
}

func randomHash() filter.Hash {
	return filter.Hash{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}
}

// The limits apply to the chunks of a snapshot, whether a block is joined or installed.
func TestWholeLinesOfSnapshot(t *testing.T) {
	for _, kind := range []layout.Kind{layout.SpamFilter, layout.RevokedFilter, layout.SketchFilter} {
		a, b := open(t, "a", nil), open(t, "b", nil)
		own, err := b.Store.OwnBits(current(b, kind), b.Store.ShapeFor(current(b, kind)))
		testenv.Check(t, err)
		for pos := range uint64(512) {
			own.SetCells([]filter.Cell{{Pos: pos, Value: 1}})
		}
		w := b.Outbox.NewSnapshot()
		var chunks [][]byte
		for chunk, ok, err := w.Next(); ok; chunk, ok, err = w.Next() {
			testenv.Check(t, err)
			chunks = append(chunks, chunk)
		}
		m, err := a.Sealer.ReadManifest(w.Manifest(0))
		testenv.Check(t, err)
		for i, chunk := range chunks {
			err = errors.Join(err, a.Peers.ApplyChunk(m, i, chunk))
		}
		parts, _ := a.Store.View.Load().Joined(current(b, kind))
		if held := cellsOf(parts); !errors.Is(err, wire.ErrCapped) || held > 0 {
			t.Errorf("%s: %d bits held, %v, want none and ErrCapped", kind, held, err)
		}
	}
}

func cellsOf(parts []store.SitePart) (n int64) {
	for _, p := range parts {
		n += p.Cells()
	}
	return n
}

// A site that has filled its cap, and begins other epochs with the same filters, is not over it.
func TestFullSiteInNewEpochs(t *testing.T) {
	kind := layout.SpamFilter
	a, s := open(t, "a", nil), newSender(t)
	shape := s.shape(kind)
	own, err := filter.NewBits(shape.Bits())
	testenv.Check(t, err)
	for most := a.Peers.SiteCap("b", current(a, kind), shape); own.Ones() < most-8; {
		own.Set(randomHash())
	}
	for epoch := range uint64(4) {
		for i := range shape.Blocks(kind) {
			for cells := range slices.Chunk(own.Block(i, nil), 250) { // each record compares all blocks of all epochs
				testenv.Check(t, s.sendCells(a, layout.Origin{Site: "b", Epoch: 2 + epoch}, kind, cells))
			}
		}
	}
}
