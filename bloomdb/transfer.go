package bloomdb

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// A site's snapshot, for who comes too late for its deltas: chunks of at most 1 MiB,
// of which the manifest says which belong together and where in the stream to go on.
//
//	NewSnapshot -> Next, Next, ... -> Manifest -> SnapshotPublished
//	ReadManifest -> ApplyChunk, ApplyChunk, ... -> FinishSnapshot
//
// The filters go on changing meanwhile: chunks may tell more than the manifest
// says, never less.

const (
	maxChunkBody  = MaxDelta - maxRecordHead - 64 - recordTail
	maxChunks     = 1 << 15 // of one snapshot
	chunkDigest   = 16      // bytes by which a manifest knows a chunk
	manifestFixed = 1 + 1 + 8 + 4
	incomplete    = 1 // flag of a manifest: not all filters are in the chunks
)

// SnapshotDue says that deltas do not tell other sites everything: a snapshot has to
// be published.
func (ks *keyspace) SnapshotDue() bool {
	ks.pub.deltaMu.Lock()
	defer ks.pub.deltaMu.Unlock()
	return ks.pub.resumed && ks.pub.id.Republish
}

// SnapshotWriter makes the chunks of this site's snapshot. It is for one goroutine.
type SnapshotWriter struct {
	ks      *keyspace
	epoch   uint64
	seq     uint64
	targets []target
	block   uint64 // of the first target, the next to be coded
	whole   bool   // nothing was left out
	bytes   int64
	digests [][chunkDigest]byte
	cells   []filter.Cell
}

// NewSnapshot begins a snapshot of all own filters, at the position of now: reports
// first, the newest generation first, counts last. Generations that others would
// refuse, as this site's clock was wrong when they began, are not in it.
func (ks *keyspace) NewSnapshot() *SnapshotWriter {
	w := &SnapshotWriter{ks: ks, whole: true}
	w.epoch, w.seq = ks.Head()
	v := ks.current()
	for _, g := range v.reports {
		for _, kind := range reportKinds {
			w.targets = append(w.targets, target{kind, g.num})
		}
	}
	for _, g := range v.counts {
		w.targets = append(w.targets, target{countFilter, g.num})
	}
	w.targets = slices.DeleteFunc(w.targets, ks.early)
	return w
}

// Seq is the position.
func (w *SnapshotWriter) Seq() uint64 { return w.seq }

// Bytes is how long the chunks so far are.
func (w *SnapshotWriter) Bytes() int64 { return w.bytes }

// Next makes the next chunk; false after the last one. Counts wait for the disk here:
// what others were told of must not be forgotten. An error is the disk's.
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
	if err := w.ks.journal.flush(); err != nil {
		return nil, false, fmt.Errorf("snapshot: chunk %d: %w", len(w.digests), err)
	}
	h := Head{Type: RecordChunk, Site: w.ks.opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.ks.opt.Now()}
	chunk = w.ks.encodeRecord(h, body)
	w.bytes += int64(len(chunk))
	w.digests = append(w.digests, chunkID(chunk))
	return chunk, true, nil
}

// LeaveRest ends the snapshot with what has been coded so far: it would become too
// large.
func (w *SnapshotWriter) LeaveRest() {
	w.whole = w.whole && len(w.targets) == 0
	w.targets = nil
}

// section appends blocks of the first target; full says that the chunk has no room
// for the next one.
func (w *SnapshotWriter) section(body []byte) (_ []byte, full bool) {
	t := w.targets[0]
	own, ok := w.ks.ownFilter(t)
	if !ok {
		return body, false
	}
	begin := len(body)
	body = w.ks.appendSectionHead(body, t, own.shape)
	length := len(body)
	body = append(body, 0, 0, 0, 0)
	first := len(body)
	for ; w.block < own.shape.blocks(t.kind) && !full; w.block++ {
		if w.cells = own.block(w.block, w.cells[:0]); len(w.cells) == 0 {
			continue
		}
		at := len(body)
		body = appendBlockHead(body, uint32(w.block))
		body = filter.AppendCells(body, w.block*t.kind.blockSize(), w.cells, t.kind.counts())
		binary.BigEndian.PutUint32(body[at+4:], uint32(len(body)-at-8))
		if full = len(body) > maxChunkBody; full {
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

// chunkID is how a manifest knows a chunk: the end of its HMAC.
func chunkID(chunk []byte) [chunkDigest]byte {
	return [chunkDigest]byte(chunk[len(chunk)-chunkDigest:])
}

// Manifest closes the snapshot after the last chunk. The slot says where the chunks
// stand; it means nothing here.
func (w *SnapshotWriter) Manifest(slot byte) []byte {
	flags := byte(0)
	if !w.whole {
		flags = incomplete
	}
	body := binary.BigEndian.AppendUint64([]byte{slot, flags}, uint64(w.bytes))
	body = binary.BigEndian.AppendUint32(body, uint32(len(w.digests)))
	for _, d := range w.digests {
		body = append(body, d[:]...)
	}
	h := Head{Type: RecordManifest, Site: w.ks.opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.ks.opt.Now()}
	return w.ks.encodeRecord(h, body)
}

// SnapshotPublished says that chunks and manifest are where others find them. Where
// another number was left out meanwhile, the snapshot is still due. One that left
// filters out serves all the same, as nothing better can be had. What waits to be
// published goes on waiting: who follows the stream never reads the snapshot.
func (ks *keyspace) SnapshotPublished(w *SnapshotWriter) error {
	p := &ks.pub
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if w.epoch != p.id.Epoch || w.seq < p.id.LeftSeq {
		return nil
	}
	p.id.Republish = false
	return p.writeLocked(ks.opt.Dir, ks.opt.Now())
}

// Manifest says of what a site's snapshot consists.
type Manifest struct {
	Head
	Slot  byte
	Whole bool  // nothing is left out
	Bytes int64 // of all chunks
	ids   [][chunkDigest]byte
}

// Chunks is how many chunks there are.
func (m *Manifest) Chunks() int { return len(m.ids) }

// ReadManifest checks and reads a manifest, of a site that is heard in full.
func (ks *keyspace) ReadManifest(data []byte) (m Manifest, err error) {
	h, body, err := ks.openRecord(data, RecordManifest)
	if err == nil {
		err = ks.checkClock(h)
	}
	if err == nil {
		err = ks.heardInFull(h.Site)
	}
	if err != nil {
		return m, err
	}
	r := &recordReader{b: body}
	m.Head, m.Slot = h, byte(r.u8())
	flags := r.u8()
	m.Bytes = int64(r.u64())
	n := r.u32()
	switch {
	case r.fail || n > maxChunks || len(r.b) != int(n)*chunkDigest:
		return m, fmt.Errorf("%s: %d chunks, %d bytes left for their ids", h, n, len(r.b))
	case flags&^incomplete != 0 || m.Bytes < 0 || m.Bytes > int64(n)*MaxDelta:
		return m, fmt.Errorf("%s: flags %#x, %d chunks of %d bytes", h, flags, n, m.Bytes)
	}
	m.Whole = flags&incomplete == 0
	for id := range slices.Chunk(r.b, chunkDigest) {
		m.ids = append(m.ids, [chunkDigest]byte(id))
	}
	return m, nil
}

// ApplyChunk joins a manifest's chunk i. Chunks may come in any order and more than
// once. Errors are those of Apply; a chunk of another snapshot is one. Sections that are
// refused for ErrParameters, ErrFull or ErrCapped do not keep the others from being joined.
func (ks *keyspace) ApplyChunk(m Manifest, i int, data []byte) error {
	h, body, err := ks.openRecord(data, RecordChunk)
	switch {
	case err != nil:
		return err
	case h.origin() != m.origin() || h.Seq != m.Seq || i < 0 || i >= m.Chunks() || chunkID(data) != m.ids[i]:
		return fmt.Errorf("%s: it is not chunk %d of %s", h, i, m)
	case h.Site == ks.opt.Site:
		return nil
	}
	r := &recordReader{b: body}
	if n := int(r.u32()); n != i {
		return fmt.Errorf("%s: chunk %d says that it is %d", h, i, n)
	}
	ks.sitesMu.Lock()
	defer ks.sitesMu.Unlock()
	state, err := ks.stateOf(h)
	if err != nil {
		return err
	}
	ks.sites[h.origin()] = state
	var refused error // of the sections that can't be joined here, the first
	for len(r.b) > 0 {
		err := ks.applyChunkSection(h.origin(), state, r)
		if err != nil && !unjoinable(err) {
			return fmt.Errorf("%s: chunk %d: %w", h, i, err)
		}
		refused = cmp.Or(refused, err)
	}
	if refused != nil {
		state.refused = true
		return fmt.Errorf("%s: chunk %d: %w", h, i, refused)
	}
	return nil
}

// unjoinable says that a section is what it should be and has no place here: what
// stands beside it has.
func unjoinable(err error) bool {
	return errors.Is(err, ErrParameters) || errors.Is(err, ErrFull) || errors.Is(err, ErrCapped)
}

// applyChunkSection reads and joins a section's blocks.
func (ks *keyspace) applyChunkSection(o origin, state *siteState, r *recordReader) error {
	s, err := decodeSectionHead(r)
	if err != nil {
		return err
	}
	blocks := &recordReader{b: r.take(int(r.u32()))}
	if r.fail {
		return errShort
	}
	if len(ks.joinable(delta{origin: o, sections: []deltaSection{s}}, state)) == 0 || ks.aged(s.target) {
		return nil
	}
	if err := ks.roomForParts(o.site, blocksNeed(*blocks)); err != nil {
		return err
	}
	if err := ks.acceptable(o, s); err != nil {
		return err
	}
	part, err := ks.partFor(o, s.target, s.shape)
	if err != nil {
		return err
	}
	join := ks.joinBlock
	if ks.roomy(o, s, claimedCells(*blocks)) {
		join = ks.installBlock
	}
	for next := uint64(0); len(blocks.b) > 0; {
		index := uint64(blocks.u32())
		code := blocks.take(int(blocks.u32()))
		if blocks.fail || index < next || index >= s.shape.blocks(s.target.kind) || len(code) > maxBlockCode {
			return fmt.Errorf("%s generation %d: block %d of %d bytes after block %d", s.target.kind, s.target.gen, index, len(code), next)
		}
		err := join(o, s, part, index, code)
		if s.target.kind == classFilter && unjoinable(err) {
			return nil // as joinable does
		}
		if err != nil {
			return fmt.Errorf("%s generation %d: block %d: %w", s.target.kind, s.target.gen, index, err)
		}
		next = index + 1
	}
	return nil
}

// claimedCells is how many cells the coded blocks of a section say that they have,
// which is no less than they have: what says less is refused.
func claimedCells(r recordReader) (n int64) {
	for len(r.b) > 0 && !r.fail {
		r.u32()
		claimed, _ := binary.Uvarint(r.take(int(r.u32())))
		n += int64(min(claimed, 1<<20))
	}
	return n
}

// roomy says that a site may set n more cells of a filter, whatever these are.
func (ks *keyspace) roomy(o origin, s deltaSection, n int64) bool {
	name := siteTarget{o.site, s.target}
	if use := ks.uses[name]; use != nil && use.capped || held(ks.livesOf(name))+n > ks.siteCap(o.site, s.target, s.shape) {
		return false
	}
	if s.target.kind.counts() {
		return true
	}
	ones := int64(0)
	if g := ks.view.Load().report(s.target.gen); g != nil && g.listing(s.target.kind).others != nil {
		ones = g.listing(s.target.kind).others.Ones()
	}
	return ones+n <= ks.fillLimit(s.target.kind, s.shape.bits())
}

// installBlock joins one block of a section for all of which there is room.
func (ks *keyspace) installBlock(_ origin, _ deltaSection, part *partOf, index uint64, code []byte) (err error) {
	ks.blockCells, err = part.part.Install(index, code, ks.blockCells[:0])
	if err == nil && part.others != nil {
		part.others.SetCells(ks.blockCells)
	}
	return err
}

// joinBlock joins one block, if there is room for its cells.
func (ks *keyspace) joinBlock(o origin, s deltaSection, part *partOf, index uint64, code []byte) error {
	from, counts := index*s.target.kind.blockSize(), s.target.kind.counts()
	cells, rest, err := filter.DecodeCells(nil, code, from, min(from+s.target.kind.blockSize(), s.shape.size(s.target.kind)), counts)
	if err == nil {
		err = trailing(rest)
	}
	if err != nil {
		return err
	}
	s.cells = cells
	if err := ks.acceptable(o, s); err != nil {
		return err
	}
	return part.merge(cells)
}

// FinishSnapshot says that all chunks of a manifest are joined: the cursor goes to
// its position, and what was missing before it is there. What was refused of them, or
// left out of the snapshot, is missing.
func (ks *keyspace) FinishSnapshot(m Manifest) error {
	if m.Site == ks.opt.Site {
		return nil
	}
	ks.sitesMu.Lock()
	defer ks.sitesMu.Unlock()
	state, err := ks.stateOf(m.Head)
	if err != nil {
		return err
	}
	state.seq = max(state.seq, m.Seq)
	switch {
	case state.refused || !m.Whole:
		state.refused, state.gaps, state.hole = false, max(1, state.gaps), max(state.hole, m.Seq)
	case m.Seq >= state.hole:
		state.gaps = 0
	}
	ks.sites[m.origin()] = state
	return nil
}

// Wanting says that deltas of a site's present life were lost or refused, and that no
// snapshot has brought them back.
func (ks *keyspace) Wanting(site string) bool {
	ks.sitesMu.Lock()
	defer ks.sitesMu.Unlock()
	_, state := ks.latest(site)
	return state != nil && state.gaps > 0
}
