package peers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// snapshotOf returns the manifest and the chunks of a site's snapshot.
func snapshotOf(t *testing.T, from, to *keyspace.Keyspace) (m wire.Manifest, chunks [][]byte) {
	t.Helper()
	w := from.Outbox.NewSnapshot()
	for chunk, ok, err := w.Next(); ok; chunk, ok, err = w.Next() {
		testenv.Check(t, err)
		chunks = append(chunks, chunk)
	}
	m, err := to.Sealer.ReadManifest(w.Manifest(0))
	testenv.Check(t, err)
	return m, chunks
}

// TestAbandonedSnapshot is the attack "abandoned snapshot": a client of Redis without a key puts back
// a snapshot of which a part is refused here, and takes it away while it is read. The next one, of
// which nothing is refused, counts as whole.
func TestAbandonedSnapshot(t *testing.T) {
	a, b := open(t, "a", nil), open(t, "b", nil)
	now := current(b, layout.SketchFilter)
	own, err := b.Store.OwnBits(now, b.Store.ShapeFor(now))
	testenv.Check(t, err)
	own.SetCells([]filter.Cell{{Pos: 7, Value: 1}})
	m, chunks := snapshotOf(t, b, a)

	head := m.Head
	head.Type, head.Made = wire.RecordChunk, head.Made.Add(-1)
	body := b.Settings.AppendSectionHead(make([]byte, 4), now, layout.BitsShape(b.Settings.SpamShape())) // it was another one once
	earlier := b.Sealer.EncodeRecord(head, binary.BigEndian.AppendUint32(body, 0))
	abandoned := wire.Manifest{Head: head, Whole: true, IDs: [][wire.ChunkDigest]byte{wire.ChunkID(earlier), {}}}
	if err := a.Peers.ApplyChunk(abandoned, 0, earlier); !errors.Is(err, layout.ErrParameters) {
		t.Fatal(err)
	}

	for i, chunk := range chunks {
		testenv.Check(t, a.Peers.ApplyChunk(m, i, chunk))
	}
	testenv.Check(t, a.Peers.FinishSnapshot(m))
	parts, _ := a.Store.View.Load().Joined(now)
	if a.Peers.Wanting("b") || len(parts) != 1 || parts[0].Loading != nil || parts[0].Part.Cells() != 1 {
		t.Errorf("a whole snapshot counts as incomplete: wanting %v, parts %+v", a.Peers.Wanting("b"), parts)
	}
}

// The sketches of a snapshot that was not read to its end are not looked up after another one, which
// the site had to end before that generation.
func TestAbandonedSketches(t *testing.T) {
	a, b := open(t, "a", nil), open(t, "b", nil)
	now, shape := current(b, layout.SketchFilter), layout.BitsShape(b.Settings.SketchShape())
	earlier := now
	earlier.Gen--
	take := func(seq uint64, whole bool, tg layout.Target, ids int) {
		t.Helper()
		head := wire.Head{Type: wire.RecordChunk, Site: "b", Epoch: 2, Seq: seq, Made: b.Settings.Now()}
		code := coded.AppendCells(nil, 0, []filter.Cell{{Pos: 7, Value: 1}}, false)
		body := binary.BigEndian.AppendUint32(b.Settings.AppendSectionHead(make([]byte, 4), tg, shape), uint32(8+len(code)))
		body = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(body, 0), uint32(len(code)))
		chunk := b.Sealer.EncodeRecord(head, append(body, code...))
		m := wire.Manifest{Head: head, Whole: whole, IDs: make([][wire.ChunkDigest]byte, ids)}
		m.IDs[0] = wire.ChunkID(chunk)
		testenv.Check(t, a.Peers.ApplyChunk(m, 0, chunk))
		if ids == 1 {
			testenv.Check(t, a.Peers.FinishSnapshot(m))
		}
	}
	isShown := func(tg layout.Target) bool {
		parts, _ := a.Store.View.Load().Joined(tg)
		return len(parts) == 1 && parts[0].Loading == nil && parts[0].Part.Cells() == 1
	}
	take(1, true, earlier, 2) // and its second chunk never comes
	take(2, false, now, 1)
	if isShown(earlier) || isShown(now) {
		t.Error("sketches that may not be all of their generation are looked up")
	}
	take(3, true, now, 1)
	if !isShown(earlier) || !isShown(now) {
		t.Error("sketches are not looked up after a whole snapshot")
	}
}
