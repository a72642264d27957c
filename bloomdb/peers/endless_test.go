package peers_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// A site sends snapshots of sections that are refused, and never the last chunk, in which the memory
// of the snapshot would end. What is remembered of it does not grow with what it sends.
func TestEndlessSnapshots(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	now := layout.Target{Kind: layout.SketchFilter, Gen: s.ks.Settings.Generation(layout.SketchFilter, s.ks.Settings.Now())}
	daily := s.ks.Settings.Period(layout.CountFilter)
	chunk := func(number int) []byte {
		body := binary.BigEndian.AppendUint32(nil, uint32(number))
		for n := range 1000 {
			o, of, shape := s.ks.Settings, now, s.shape(layout.SpamFilter) // sketches have another one
			if n > 0 {
				other := *o
				other.Reports.Period, of.Gen, o = daily, int64(n), &other // another period, in which any number is one
			}
			body = binary.BigEndian.AppendUint32(o.AppendSectionHead(body, of, shape), 0)
		}
		return body
	}
	head := wire.Head{Type: wire.RecordChunk, Site: "b", Epoch: 2, Seq: 1, Made: s.ks.Settings.Now()}
	m := wire.Manifest{Head: head}
	var chunks [][]byte
	for i := range 20 {
		chunks = append(chunks, s.ks.Sealer.EncodeRecord(head, chunk(i)))
		m.IDs = append(m.IDs, wire.ChunkID(chunks[i]))
	}
	m.IDs = append(m.IDs, m.IDs[0]) // there is no such chunk
	for i, c := range chunks {
		if err := a.Peers.ApplyChunk(m, i, c); !errors.Is(err, layout.ErrParameters) {
			t.Fatalf("chunk %d: %v", i, err)
		}
	}
	if n := a.Peers.Incomplete(head.Origin()); n != 1 {
		t.Errorf("%d generations are remembered after %d refused sections, want 1", n, 1000*len(chunks))
	}
	// The memory ends with a snapshot that is whole.
	head.Seq++
	last := wire.Manifest{Head: head, Whole: true}
	if err := a.Peers.FinishSnapshot(last); err != nil || a.Peers.Incomplete(head.Origin()) != 0 {
		t.Errorf("%d after a whole snapshot, %v", a.Peers.Incomplete(head.Origin()), err)
	}
}

// TestRepeatedSections is the attack "repeated sections": a chunk repeats a section of blocks of some
// bytes, each of which takes a fraction of a millisecond to check.
func TestRepeatedSections(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	spam := current(s.ks, layout.SpamFilter)
	body := binary.BigEndian.AppendUint32(nil, 0)
	for pos := range uint64(2) {
		code := coded.AppendCells(nil, 0, []filter.Cell{{Pos: pos, Value: 1}}, false)
		body = binary.BigEndian.AppendUint32(s.ks.Settings.AppendSectionHead(body, spam, s.shape(layout.SpamFilter)), uint32(8+len(code)))
		body = append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(body, 0), uint32(len(code))), code...)
	}
	head := wire.Head{Type: wire.RecordChunk, Site: "b", Epoch: 2, Seq: 1, Made: s.ks.Settings.Now()}
	chunk := s.ks.Sealer.EncodeRecord(head, body)
	m := wire.Manifest{Head: head, IDs: [][wire.ChunkDigest]byte{wire.ChunkID(chunk)}}
	err := a.Peers.ApplyChunk(m, 0, chunk)
	parts, _ := a.Store.View.Load().Joined(spam)
	if err == nil || cellsOf(parts) != 1 {
		t.Errorf("%v, %d bits are held, want an error after the first section", err, cellsOf(parts))
	}
}
