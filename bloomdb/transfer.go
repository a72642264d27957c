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

// SnapshotDue says that deltas do not tell other sites everything: a snapshot has to be
// published.
func (p *publisher) SnapshotDue() bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.resumed && p.id.Republish
}

// SnapshotWriter makes the chunks of this site's snapshot. It is for one goroutine.
type SnapshotWriter struct {
	pub     *publisher
	epoch   uint64
	seq     uint64
	targets []target
	block   uint64 // of the first target, the next to be coded
	whole   bool   // nothing was left out
	bytes   int64
	digests [][chunkDigest]byte
	cells   []filter.Cell
}

// NewSnapshot begins a snapshot of all own filters, at the position of now: reports first, the
// newest generation first, counts last.
func (p *publisher) NewSnapshot() *SnapshotWriter {
	w := &SnapshotWriter{pub: p, whole: true}
	w.epoch, w.seq = p.Head()
	v := p.store.current()
	for _, g := range v.reports {
		for _, kind := range reportKinds {
			w.targets = append(w.targets, target{kind, g.num})
		}
	}
	for _, g := range v.counts {
		w.targets = append(w.targets, target{countFilter, g.num})
	}
	w.targets = slices.DeleteFunc(w.targets, p.opt.early)
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
	if err := w.pub.journal.flush(); err != nil {
		return nil, false, fmt.Errorf("snapshot: chunk %d: %w", len(w.digests), err)
	}
	h := Head{Type: RecordChunk, Site: w.pub.opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.pub.opt.Now()}
	chunk = w.pub.sealer.encodeRecord(h, body)
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
	own, ok := w.pub.store.ownFilter(t)
	if !ok {
		return body, false
	}
	begin := len(body)
	body = w.pub.opt.appendSectionHead(body, t, own.shape)
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
	h := Head{Type: RecordManifest, Site: w.pub.opt.Site, Epoch: w.epoch, Seq: w.seq, Made: w.pub.opt.Now()}
	return w.pub.sealer.encodeRecord(h, body)
}

// SnapshotPublished says that chunks and manifest are where others find them.
func (p *publisher) SnapshotPublished(w *SnapshotWriter) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if w.epoch != p.id.Epoch || w.seq < p.id.LeftSeq {
		return nil
	}
	p.id.Republish = false
	return p.writeLocked(p.opt.Dir, p.opt.Now())
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
func (s *sealer) ReadManifest(data []byte) (m Manifest, err error) {
	h, body, err := s.openRecord(data, RecordManifest)
	if err == nil {
		err = s.checkClock(h)
	}
	if err == nil {
		err = s.heardInFull(h.Site)
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

// ApplyChunk joins a manifest's chunk i.
func (ps *peers) ApplyChunk(m Manifest, i int, data []byte) error {
	h, body, err := ps.sealer.openRecord(data, RecordChunk)
	switch {
	case err != nil:
		return err
	case h.origin() != m.origin() || h.Seq != m.Seq || i < 0 || i >= m.Chunks() || chunkID(data) != m.ids[i]:
		return fmt.Errorf("%s: it is not chunk %d of %s", h, i, m)
	case h.Site == ps.opt.Site:
		return nil
	}
	r := &recordReader{b: body}
	if n := int(r.u32()); n != i {
		return fmt.Errorf("%s: chunk %d says that it is %d", h, i, n)
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(h)
	if err != nil {
		return err
	}
	ps.sites[h.origin()] = state
	var refused error // of the sections that can't be joined here, the first
	for len(r.b) > 0 {
		err := ps.applyChunkSection(h.origin(), state, r)
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
func (ps *peers) applyChunkSection(o origin, state *siteState, r *recordReader) error {
	s, err := decodeSectionHead(r)
	if err != nil {
		return err
	}
	blocks := &recordReader{b: r.take(int(r.u32()))}
	if r.fail {
		return errShort
	}
	if len(ps.joinable(delta{origin: o, sections: []deltaSection{s}}, state)) == 0 || ps.opt.aged(s.target) {
		return nil
	}
	if err := ps.roomForParts(o.site, blocksNeed(*blocks)); err != nil {
		return err
	}
	if err := ps.acceptable(o, s); err != nil {
		return err
	}
	part, err := ps.store.partFor(o, s.target, s.shape)
	if err != nil {
		return err
	}
	join := ps.joinBlock
	if ps.roomy(o, s, claimedCells(*blocks)) {
		join = ps.installBlock
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
func (ps *peers) roomy(o origin, s deltaSection, n int64) bool {
	name := siteTarget{o.site, s.target}
	if use := ps.uses[name]; use != nil && use.capped || held(ps.livesOf(name))+n > ps.siteCap(o.site, s.target, s.shape) {
		return false
	}
	if s.target.kind.counts() {
		return true
	}
	ones := int64(0)
	if g := ps.store.view.Load().report(s.target.gen); g != nil && g.listing(s.target.kind).others != nil {
		ones = g.listing(s.target.kind).others.Ones()
	}
	return ones+n <= ps.opt.fillLimit(s.target.kind, s.shape.bits())
}

// installBlock joins one block of a section for all of which there is room.
func (ps *peers) installBlock(_ origin, _ deltaSection, part *partOf, index uint64, code []byte) (err error) {
	ps.blockCells, err = part.part.Install(index, code, ps.blockCells[:0])
	if err == nil && part.others != nil {
		part.others.SetCells(ps.blockCells)
	}
	return err
}

// joinBlock joins one block, if there is room for its cells.
func (ps *peers) joinBlock(o origin, s deltaSection, part *partOf, index uint64, code []byte) error {
	from, counts := index*s.target.kind.blockSize(), s.target.kind.counts()
	cells, rest, err := filter.DecodeCells(nil, code, from, min(from+s.target.kind.blockSize(), s.shape.size(s.target.kind)), counts)
	if err == nil {
		err = trailing(rest)
	}
	if err != nil {
		return err
	}
	s.cells = cells
	if err := ps.acceptable(o, s); err != nil {
		return err
	}
	return part.merge(cells)
}

// FinishSnapshot says that all chunks of a manifest are joined: the cursor goes to its position,
// and what was missing before it is there.
func (ps *peers) FinishSnapshot(m Manifest) error {
	if m.Site == ps.opt.Site {
		return nil
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(m.Head)
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
	ps.sites[m.origin()] = state
	return nil
}

// Wanting says that deltas of a site's present life were lost or refused, and that no snapshot
// has brought them back.
func (ps *peers) Wanting(site string) bool {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	_, state := ps.latest(site)
	return state != nil && state.gaps > 0
}
