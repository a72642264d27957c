package outbox

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// SnapshotDue reports whether a snapshot must be published, because deltas do not contain all
// changes.
func (p *Outbox) SnapshotDue() bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.resumed && p.ID.Republish
}

// SnapshotWriter encodes the chunks of this site's snapshot. It is for one goroutine.
type SnapshotWriter struct {
	pub     *Outbox
	epoch   uint64
	seq     uint64
	targets []layout.Target
	block   uint64 // next block of the first target
	whole   bool   // all filters are included
	bytes   int64
	digests [][wire.ChunkDigest]byte
	cells   []filter.Cell
}

// NewSnapshot begins a snapshot of all own filters at the current position: reports first, newest
// generation first, each in the order of publication; then counts. Readers join chunk by chunk.
func (p *Outbox) NewSnapshot() *SnapshotWriter {
	w := &SnapshotWriter{pub: p, whole: true}
	w.epoch, w.seq = p.Head()
	v := p.Store.Current()
	for _, g := range v.Reports {
		for _, kind := range layout.PublishOrder {
			if kind.Counts() {
				continue
			}
			w.targets = append(w.targets, layout.Target{Kind: kind, Gen: g.Num})
		}
	}
	for _, g := range v.Counts {
		w.targets = append(w.targets, layout.Target{Kind: layout.CountFilter, Gen: g.Num})
	}
	w.targets = slices.DeleteFunc(w.targets, p.isFuture)
	return w
}

// Seq returns the position.
func (w *SnapshotWriter) Seq() uint64 { return w.seq }

// Bytes returns the size of the chunks so far.
func (w *SnapshotWriter) Bytes() int64 { return w.bytes }

// Next encodes the next chunk. It returns false after the last one. Counts are synced first: what
// other sites have received must not be lost. An error comes from the disk.
func (w *SnapshotWriter) Next() (chunk []byte, ok bool, err error) {
	body := binary.BigEndian.AppendUint32(nil, uint32(len(w.digests)))
	empty := len(body)
	for full := false; len(w.targets) > 0 && !full; {
		body, full = w.section(body)
		if !full {
			w.targets, w.block = w.targets[1:], 0
		}
	}
	if len(body) == empty {
		return nil, false, nil
	}
	if err := w.pub.Journal.Flush(); err != nil {
		return nil, false, fmt.Errorf("snapshot: chunk %d: %w", len(w.digests), err)
	}
	h := wire.Head{Type: wire.RecordChunk, Site: w.pub.Opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.pub.Opt.Now()}
	chunk = w.pub.Sealer.EncodeRecord(h, body)
	w.bytes += int64(len(chunk))
	w.digests = append(w.digests, wire.ChunkID(chunk))
	return chunk, true, nil
}

// LeaveRest ends the snapshot with what has been encoded so far, because it would become too
// large.
func (w *SnapshotWriter) LeaveRest() {
	w.whole = w.whole && len(w.targets) == 0
	w.targets = nil
}

// section appends blocks of the first target. It reports whether the chunk is full.
func (w *SnapshotWriter) section(body []byte) (_ []byte, full bool) {
	t := w.targets[0]
	own, ok := w.pub.Store.OwnFilter(t)
	if !ok {
		return body, false
	}
	begin := len(body)
	body = w.pub.Opt.AppendSectionHead(body, t, own.Shape)
	length := len(body)
	body = append(body, 0, 0, 0, 0)
	first := len(body)
	for ; w.block < own.Shape.Blocks(t.Kind) && !full; w.block++ {
		if w.cells = own.Block(w.block, w.cells[:0]); len(w.cells) == 0 {
			continue
		}
		at := len(body)
		body = snapshot.AppendBlockHead(body, uint32(w.block))
		body = coded.AppendCells(body, w.block*t.Kind.BlockSize(), w.cells, t.Kind.Counts())
		binary.BigEndian.PutUint32(body[at+4:], uint32(len(body)-at-8))
		if full = len(body) > wire.MaxChunkBody; full {
			body = body[:at]
			break
		}
	}
	if len(body) == first {
		return body[:begin], full
	}
	binary.BigEndian.PutUint32(body[length:], uint32(len(body)-first))
	return body, full
}

// Manifest encodes the manifest after the last chunk. slot identifies where the chunks are stored;
// it has no meaning here.
func (w *SnapshotWriter) Manifest(slot byte) []byte {
	flags := byte(0)
	if !w.whole {
		flags = wire.Incomplete
	}
	body := binary.BigEndian.AppendUint64([]byte{slot, flags}, uint64(w.bytes))
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.digests)))
	for _, d := range w.digests {
		body = append(body, d[:]...)
	}
	h := wire.Head{Type: wire.RecordManifest, Site: w.pub.Opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.pub.Opt.Now()}
	return w.pub.Sealer.EncodeRecord(h, body)
}

// SnapshotPublished reports to the outbox that other sites can read chunks and manifest.
func (p *Outbox) SnapshotPublished(w *SnapshotWriter) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if w.epoch != p.ID.Epoch || w.seq < p.ID.LeftSeq {
		return nil
	}
	p.ID.Republish = false
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}
