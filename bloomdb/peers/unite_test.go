package peers_test

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// sendUnended applies the first of two chunks of a snapshot: n bits of sketches.
func (s *sender) sendUnended(to *keyspace.Keyspace, o layout.Origin, from, n uint64) error {
	kind, shape := layout.SketchFilter, s.shape(layout.SketchFilter)
	var cells []filter.Cell
	for i := from; i < from+n; i++ {
		cells = append(cells, filter.Cell{Pos: i * 1_000_003 % shape.Size(kind), Value: 1})
	}
	slices.SortFunc(cells, func(a, b filter.Cell) int { return cmp.Compare(a.Pos, b.Pos) })
	var blocks []byte
	for len(cells) > 0 {
		block, in := cells[0].Pos/kind.BlockSize(), 1
		for in < len(cells) && cells[in].Pos/kind.BlockSize() == block {
			in++
		}
		code := coded.AppendCells(nil, block*kind.BlockSize(), cells[:in], false)
		blocks = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(blocks, uint32(block)), uint32(len(code)))
		blocks, cells = append(blocks, code...), cells[in:]
	}
	head := wire.Head{Type: wire.RecordChunk, Site: o.Site, Epoch: o.Epoch, Seq: 1, Made: s.ks.Settings.Now()}
	body := binary.BigEndian.AppendUint32(s.ks.Settings.AppendSectionHead(make([]byte, 4), current(s.ks, kind), shape), uint32(len(blocks)))
	chunk := s.ks.Sealer.EncodeRecord(head, append(body, blocks...))
	return to.Peers.ApplyChunk(wire.Manifest{Head: head, Whole: true, IDs: [][wire.ChunkDigest]byte{wire.ChunkID(chunk), {}}}, 0, chunk)
}

// A member begins a snapshot with sketches up to its cap, never ends it, begins so many epochs that the first
// ones are united, and does so again. It leaves half of the sketches to the others, and nothing is among the
// joined bits that no part has.
func TestUnendedSketchesAreUnited(t *testing.T) {
	a, s := open(t, "a", wire.Members{"b": {}, "c": {}}), newSender(t)
	now := current(a, layout.SketchFilter)
	most := uint64(a.Peers.SiteCap("b", now, s.shape(now.Kind)))
	o := layout.Origin{Site: "b", Epoch: 2}
	begin := func() {
		testenv.Check(t, s.send(a, o, layout.SpamFilter, 7, 1))
		o.Epoch += 1000
	}
	begin()
	next := uint64(0)
	for n := most * 9 / 10; n > 8; next += n {
		err := s.sendUnended(a, o, next, n)
		for range 2 * peers.MaxEpochs {
			begin()
		}
		if err != nil {
			n /= 2
		}
	}
	if err := s.send(a, layout.Origin{Site: "c", Epoch: 2}, now.Kind, next, most/2); err != nil {
		t.Errorf("another site: %v", err)
	}
	testenv.Check(t, a.Check())
}
