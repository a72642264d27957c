package peers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// ApplyChunk joins chunk i of a manifest.
func (ps *Peers) ApplyChunk(m wire.Manifest, i int, data []byte) error {
	h, body, err := ps.sealer.OpenRecord(data, wire.RecordChunk)
	switch {
	case err != nil:
		return err
	case h.Origin() != m.Origin() || h.Seq != m.Seq || !m.Lists(i, data):
		return fmt.Errorf("%s: it is not chunk %d of %s", h, i, m)
	case h.Site == ps.opt.Site:
		return nil
	}
	r := &wire.RecordReader{B: body}
	if n := int(r.U32()); n != i {
		return fmt.Errorf("%s: chunk %d claims to be chunk %d", h, i, n)
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(h)
	if err != nil {
		return err
	}
	ps.sites[h.Origin()] = state
	ps.beginSnapshot(state, m)
	var refused error // error of the first section that cannot be joined here
	joined := make(map[layout.Target]bool)
	for len(r.B) > 0 {
		err := ps.applyChunkSection(h.Origin(), state, r, joined)
		if err != nil && !isUnjoinable(err) {
			return fmt.Errorf("%s: chunk %d: %w", h, i, err)
		}
		if err != nil {
			ps.omit(state)
		}
		refused = cmp.Or(refused, err)
	}
	if !m.Whole && i == m.Chunks()-1 {
		ps.omit(state) // the snapshot may end within this filter
	}
	if refused != nil {
		state.refused = true
		return fmt.Errorf("%s: chunk %d: %w", h, i, refused)
	}
	return nil
}

// beginSnapshot forgets that parts of another snapshot were rejected, which was not read to its end.
// Its sketches stay incomplete until the new one, or a later one, supplies them.
func (ps *Peers) beginSnapshot(s *state, m wire.Manifest) {
	if s.snapshot != m.Head {
		ps.omit(s)
		s.snapshot, s.refused, s.last = m.Head, false, layout.Target{}
	}
}

// omit keeps the last section's sketches from being looked up: without all of them, near-duplicates
// of revoked messages could match. A generation is recorded once, and only if it is kept: a site can
// send any number of sections that are refused, in snapshots that it never ends.
func (ps *Peers) omit(s *state) {
	t := s.last
	if t.Kind == layout.SketchFilter && !ps.opt.Expired(t) && !ps.opt.Future(t, clock.MaxSkew) && !slices.Contains(s.incomplete, t.Gen) {
		s.incomplete = append(slices.DeleteFunc(s.incomplete, func(gen int64) bool {
			return ps.opt.Expired(layout.Target{Kind: t.Kind, Gen: gen})
		}), t.Gen)
	}
}

// isUnjoinable reports whether a section is valid but cannot be joined here. The other sections of
// its chunk can.
func isUnjoinable(err error) bool {
	return errors.Is(err, layout.ErrParameters) || errors.Is(err, layout.ErrFull) || errors.Is(err, wire.ErrCapped)
}

// applyChunkSection decodes and joins the blocks of a section. A filter has one section in a chunk:
// checking a block may take a thousand times as long as sending it.
func (ps *Peers) applyChunkSection(o layout.Origin, state *state, r *wire.RecordReader, joined map[layout.Target]bool) error {
	s, err := wire.DecodeSectionHead(r)
	if err != nil {
		return err
	}
	if joined[s.Target] {
		return fmt.Errorf("%s generation %d: second section in one chunk", s.Target.Kind, s.Target.Gen)
	}
	joined[s.Target] = true
	if s.Target != state.last && s.Target.Kind == layout.SketchFilter { // its first section in this snapshot
		state.incomplete = slices.DeleteFunc(state.incomplete, func(gen int64) bool { return gen == s.Target.Gen })
	}
	state.last = s.Target
	blocks := &wire.RecordReader{B: r.Take(int(r.U32()))}
	if r.Fail {
		return wire.ErrShort
	}
	if isWanted, err := ps.accepts(o, state, s); err != nil || !isWanted {
		return err
	}
	if err := ps.roomForParts(o.Site, blocksNeed(*blocks)); err != nil {
		return err
	}
	part, err := ps.store.LoadingFor(o, s.Target, s.Shape)
	if err != nil {
		return err
	}
	join := ps.joinBlock
	if !part.OnlyFresh() && ps.hasRoom(o, s, claimedCells(*blocks)) {
		join = ps.installBlock
	}
	for next := uint64(0); len(blocks.B) > 0; {
		index := uint64(blocks.U32())
		code := blocks.Take(int(blocks.U32()))
		if blocks.Fail || index < next || index >= s.Shape.Blocks(s.Target.Kind) || len(code) > snapshot.MaxBlockCode {
			return fmt.Errorf("%s generation %d: block %d of %d bytes after block %d", s.Target.Kind, s.Target.Gen, index, len(code), next)
		}
		err := join(o, s, part, index, code)
		if s.Target.Kind == layout.ClassFilter && isUnjoinable(err) {
			return nil // as accepts does
		}
		if err != nil {
			return fmt.Errorf("%s generation %d: block %d: %w", s.Target.Kind, s.Target.Gen, index, err)
		}
		next = index + 1
	}
	return nil
}

// claimedCells returns the number of cells that the encoded blocks of a section claim. A block with
// more cells than it claims is rejected.
func claimedCells(r wire.RecordReader) (n int64) {
	for len(r.B) > 0 && !r.Fail {
		r.U32()
		claimed, _ := binary.Uvarint(r.Take(int(r.U32())))
		n += int64(min(claimed, 1<<20))
	}
	return n
}

// hasRoom reports whether a site may set n more cells of a filter, whichever these are.
func (ps *Peers) hasRoom(o layout.Origin, s wire.DeltaSection, n int64) bool {
	name := siteTarget{o.Site, s.Target}
	parts, others := ps.store.View.Load().Joined(s.Target)
	if use := ps.uses[name]; use != nil && use.capped || held(name.epochs(parts))+n > ps.siteCap(o.Site, s.Target, s.Shape) {
		return false
	}
	if s.Target.Kind.Counts() {
		return true
	}
	if others != nil {
		n += others.Ones()
	}
	return n <= ps.opt.FillLimit(s.Target.Kind, s.Shape.Bits())
}

// installBlock joins a block of a section for which there is room as a whole.
func (ps *Peers) installBlock(o layout.Origin, s wire.DeltaSection, part *store.PartOf, index uint64, code []byte) (err error) {
	parts, _ := ps.store.View.Load().Joined(s.Target)
	ps.blockCells, err = part.Install(index, code, ps.blockCells[:0], func(cells []filter.Cell) error {
		s.Cells = cells
		return ps.withinDensity(o, s, siteTarget{o.Site, s.Target}.epochs(parts))
	})
	return err
}

// joinBlock joins a block if there is room for its cells.
func (ps *Peers) joinBlock(o layout.Origin, s wire.DeltaSection, part *store.PartOf, index uint64, code []byte) error {
	from, counts := index*s.Target.Kind.BlockSize(), s.Target.Kind.Counts()
	cells, rest, err := coded.DecodeCells(nil, code, from, min(from+s.Target.Kind.BlockSize(), s.Shape.Size(s.Target.Kind)), counts)
	if err == nil {
		err = folder.Trailing(rest)
	}
	if err != nil {
		return err
	}
	s.Cells = cells
	if _, err := ps.acceptable(o, s); err != nil {
		return err
	}
	return part.Merge(cells)
}

// FinishSnapshot is called after all chunks of a manifest were applied. It moves the cursor to the
// manifest's position, and shows the sketches that were loaded. No earlier delta is missing then.
func (ps *Peers) FinishSnapshot(m wire.Manifest) error {
	if m.Site == ps.opt.Site {
		return nil
	}
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state, err := ps.stateOf(m.Head)
	if err != nil {
		return err
	}
	if m.Chunks() > 0 && state.snapshot != m.Head {
		return fmt.Errorf("%s: its chunks count no longer: the clock was corrected meanwhile", m)
	}
	ps.beginSnapshot(state, m)
	state.seq = max(state.seq, m.Seq)
	isWhole := m.Whole && !state.refused
	switch {
	case !isWhole:
		state.gaps, state.hole = max(1, state.gaps), max(state.hole, m.Seq)
	case m.Seq >= state.hole:
		state.gaps = 0
	}
	if isWhole {
		state.incomplete = nil
	}
	state.snapshot, state.refused, state.last = wire.Head{}, false, layout.Target{}
	ps.sites[m.Origin()] = state
	return ps.store.ShowLoaded(m.Origin(), state.incomplete)
}

// Wanting reports whether deltas of a site's current epoch were lost or rejected, and no snapshot
// has supplied them.
func (ps *Peers) Wanting(site string) bool {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	_, state := ps.latest(site)
	return state != nil && state.gaps > 0
}

// Refused reports whether deltas are still missing although the finished snapshot of a manifest
// reaches beyond all of them: parts of it were rejected, or it is incomplete.
func (ps *Peers) Refused(m wire.Manifest) bool {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	state := ps.sites[m.Origin()]
	return state != nil && state.gaps > 0 && m.Seq >= state.hole
}
