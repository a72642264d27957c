package outbox

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

const (
	MaxDeltaCells = 100_000   // cells of a delta, so that it stays below 1 MiB
	maxPending    = 4_000_000 // pending positions: 32 MB
	// MaxUnpublished bounds the journal that is kept for unpublished changes. Unit: bytes.
	MaxUnpublished = 256 << 20
	identityWrites = 5 * time.Second
	compactPending = 100_000 // pending positions from which Compact has work
)

// Outbox collects changes that have not been sent to other sites.
//
//	Note -> pending -> ready -> NextDelta -> flight -> Published
//
// The journal keeps the records of unpublished changes; the identity records where they begin. If
// that part of the journal grows too long, a number is skipped. Receivers detect the gap and wait
// for a snapshot that contains all changes (SnapshotDue).
type Outbox struct {
	Opt     *layout.Settings
	Sealer  *wire.Sealer
	Store   *store.Store
	Journal *journal.Log // nil until the journal is open

	changed chan struct{} // signals that a report is pending; capacity 1

	mu        sync.Mutex // guards pending, total, compactAt and lost
	on        bool
	pending   map[layout.Target][]uint64
	total     int
	compactAt int  // total at which Compact has work
	lost      bool // pending grew too long and was discarded

	deltaMu sync.Mutex // guards all below; taken before mu
	ID      folder.Identity
	dirty   bool // ID is not on disk
	written time.Time
	// lastReport returns the number of the last report in the ledger, see AddCompanion; nil: unknown.
	lastReport  func() uint64
	knownReport uint64 // see KnownReport
	// writtenLeftSeq is LeftSeq as it is on disk.
	writtenLeftSeq uint64
	resumed        bool
	ready          []changedCells
	readyMark      folder.LSN // changes of all earlier records are in ready or published
	flight         *flight
	spare          bool  // the reserved number is not assigned yet
	early          int64 // the next period that has not begun and has own reports; 0: none
}

// changedCells are positions in one filter, ascending and distinct.
type changedCells struct {
	target    layout.Target
	positions []uint64
}

// flight is the delta that was returned and is not confirmed yet.
type flight struct {
	delta wire.Delta
	done  bool // once it is published, all before readyMark is
}

func (p *Outbox) Begin(id folder.Identity, on bool) {
	p.ID, p.on, p.pending = id, on, make(map[layout.Target][]uint64)
	p.changed, p.writtenLeftSeq = make(chan struct{}, 1), id.LeftSeq
	if !on && !id.Republish {
		// Without an exchange, changes are not collected for one that is enabled later.
		p.ID.Republish, p.dirty = true, true
	}
}

// Opened records the result of loading: the key that signs records from now on, and from where
// counts of link domains begin anew.
func (p *Outbox) Opened(begin folder.LSN, domainsLost bool) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if signing := p.Sealer.SigningKey; signing != nil {
		if key := keyring.PublicKey(signing); p.ID.Signer != key {
			p.ID.Signer, p.dirty = key, true
		}
	}
	if domainsLost {
		p.ID.DomainsLSN, p.dirty = begin, true
	}
}

func (p *Outbox) Epoch() uint64 {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Epoch
}

// Note collects changed cells.
func (p *Outbox) Note(t layout.Target, positions []uint64) {
	if !p.on {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total+len(positions) > maxPending {
		clear(p.pending)
		p.total, p.lost = 0, true
		return
	}
	p.pending[t] = append(p.pending[t], positions...)
	p.total += len(positions)
	if t.Kind.Urgent() {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// Changed returns a channel that receives when a report or a revocation is pending.
func (p *Outbox) Changed() <-chan struct{} { return p.changed }

// Compact removes duplicate positions from pending; in a long outage, most are duplicates. Changes
// can be noted meanwhile. It runs each time the number of positions has doubled. It holds deltaMu,
// because gather would otherwise take the positions that are being sorted for published.
func (p *Outbox) Compact() {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.mu.Lock()
	if p.total < max(compactPending, p.compactAt) {
		p.mu.Unlock()
		return
	}
	pending := p.pending
	p.pending, p.total = make(map[layout.Target][]uint64, len(pending)), 0
	for t, positions := range pending {
		if t.Kind == layout.SketchFilter { // their order is needed, and few are duplicates
			p.pending[t], p.total = positions, p.total+len(positions)
			delete(pending, t)
		}
	}
	p.mu.Unlock()
	for t, positions := range pending {
		slices.Sort(positions)
		p.Note(t, slices.Compact(positions))
	}
	p.mu.Lock()
	p.compactAt = 2 * p.total
	p.mu.Unlock()
}

// Redo collects the changes of a record that the journal replays, unless they are published.
func (p *Outbox) Redo(at folder.LSN, t layout.Target, positions []uint64) {
	if at >= p.ID.PublishedLSN {
		p.Note(t, positions)
	}
}

// Write writes the identity to disk if it has changed.
func (p *Outbox) Write(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty || now.Sub(p.written) < identityWrites {
		return nil
	}
	return p.writeLocked(dir, now)
}

// SetSnapshots records durably which snapshots the folder needs, and that they contain all records
// of the journal before begin. Those in fresh were written now.
func (p *Outbox) SetSnapshots(dir string, paths []string, fresh map[string]bool, begin folder.LSN, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	names, written := make([]string, len(paths)), make(map[string]folder.LSN)
	for i, path := range paths {
		name := filepath.Base(path)
		names[i] = name
		if fresh[path] {
			written[name] = begin
		} else if at, ok := p.ID.Written[name]; ok {
			written[name] = at
		}
	}
	p.ID.Snapshots, p.ID.Written, p.ID.SavedLSN = names, written, begin
	return p.writeLocked(dir, now)
}

// CheckAge is Identity.CheckAge.
func (p *Outbox) CheckAge(path string, at folder.LSN) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.CheckAge(path, at)
}

// Republish records durably that a snapshot must be published. After an error, that is recorded
// in memory and written later.
func (p *Outbox) Republish(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.ID.Republish && !p.dirty {
		return nil
	}
	p.ID.Republish, p.dirty = true, true
	return p.writeLocked(dir, now)
}

// LoseJournal is LackReports where a segment of the journal is gone: it no longer begins where the
// snapshots end.
func (p *Outbox) LoseJournal(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.ID.Republish, p.ID.Relist, p.ID.SavedLSN, p.dirty = true, true, 0, true
	return p.writeLocked(dir, now)
}

// Close writes the identity for the last time.
func (p *Outbox) Close(dir string) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty {
		return nil
	}
	return p.writeLocked(dir, time.Time{})
}

func (p *Outbox) writeLocked(dir string, now time.Time) error {
	if p.lastReport != nil {
		p.ID.LastReport = p.lastReport()
	}
	if p.Journal != nil {
		p.ID.JournalEnd = p.Journal.Synced()
	}
	id := p.ID
	id.Republish = id.Republish || p.early != 0 // a period may begin before the next start
	if err := id.Write(dir); err != nil {
		return err
	}
	p.dirty, p.written, p.writtenLeftSeq = false, now, p.ID.LeftSeq
	return nil
}

// KeepFrom returns the position from which the journal must be kept. Snapshots contain all before
// begin. If the unpublished part is too long, or has too many segments, it is given up and a snapshot
// becomes due. While a snapshot is due, the journal is kept all the same: reports made while the
// snapshot is being written may not be in it.
func (p *Outbox) KeepFrom(begin folder.LSN) (folder.LSN, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.on {
		return begin, p.writeLocked(p.Opt.Dir, p.Opt.Now())
	}
	if p.Journal.BytesFrom(p.ID.PublishedLSN) > MaxUnpublished || p.Journal.SegmentsFrom(p.ID.PublishedLSN) >= journal.ManySegments {
		p.skipNumber()
		return begin, p.writeLocked(p.Opt.Dir, p.Opt.Now())
	}
	// The identity on disk must not refer to records that are dropped now.
	return min(begin, p.ID.PublishedLSN), p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// skipNumber skips a number: no delta has it. Receivers detect the gap, and fetch the snapshot that
// is now due. The caller holds deltaMu.
func (p *Outbox) skipNumber() {
	p.ID.Republish, p.dirty = true, true
	p.ID.ReservedSeq = max(p.ID.ReservedSeq, p.ID.PublishedSeq) + 1
	p.ID.PublishedSeq, p.ID.LeftSeq, p.spare = p.ID.ReservedSeq, p.ID.ReservedSeq, false
}

// Head returns the (epoch, seq) up to which this site has published: the number of the last delta,
// or a later one that was skipped.
func (p *Outbox) Head() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Epoch, p.ID.PublishedSeq
}

// NextDelta encodes the changes since the last delta: urgent ones, and with all set, counts too.
func (p *Outbox) NextDelta(all bool) (wire.Delta, bool, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.resumed {
		return wire.Delta{}, false, nil
	}
	for p.flight == nil {
		next := p.gather(all)
		if p.ID.LeftSeq > p.writtenLeftSeq { // before a heartbeat announces it
			if err := p.writeLocked(p.Opt.Dir, p.Opt.Now()); err != nil {
				return wire.Delta{}, false, err
			}
		}
		if next < 0 {
			if all && p.ID.PublishedLSN < p.readyMark {
				p.ID.PublishedLSN, p.dirty = p.readyMark, true
			}
			return wire.Delta{}, false, nil
		}
		d, err := p.reserve() // first: an error must not lose the cells taken
		if err != nil {
			return wire.Delta{}, false, err
		}
		sections := p.takeSections(next)
		if len(sections) == 0 {
			continue // all of it expired or was empty
		}
		if d.Data = p.Sealer.EncodeDelta(d, p.ID.PublishedSeq, sections); len(d.Data) > wire.MaxDelta {
			return wire.Delta{}, false, fmt.Errorf("delta %d is %d bytes long, must be at most %d", d.Seq, len(d.Data), wire.MaxDelta)
		}
		d.More = p.readyFrom(all) >= 0
		p.flight = &flight{delta: d, done: len(p.ready) == 0}
		p.spare = false
	}
	// Counts are synced here and not in Count: what other sites have received must not be
	// lost.
	if err := p.Journal.Flush(); err != nil {
		return wire.Delta{}, false, fmt.Errorf("delta %d: %w", p.flight.delta.Seq, err)
	}
	return p.flight.delta, true, nil
}

// reserve assigns the next delta its number, on disk before the delta is visible. If a number
// were assigned twice, receivers would take the second delta for the first.
func (p *Outbox) reserve() (wire.Delta, error) {
	if !p.spare {
		p.ID.ReservedSeq = max(p.ID.ReservedSeq, p.ID.PublishedSeq) + 1
		if err := p.writeLocked(p.Opt.Dir, p.Opt.Now()); err != nil {
			p.ID.ReservedSeq--
			return wire.Delta{}, err
		}
		p.spare = true
	}
	return wire.Delta{Site: p.Opt.Site, Epoch: p.ID.Epoch, Seq: p.ID.ReservedSeq}, nil
}

// gather moves pending changes to ready if ready has nothing to publish. It returns the index in
// ready from which to continue: -1 if there is nothing to publish. Unless all is set, changes that
// are not urgent stay pending. The mark is therefore set only if all is: no earlier change is
// pending then.
func (p *Outbox) gather(all bool) (next int) {
	if next := p.readyFrom(all); next >= 0 {
		return next
	}
	mark := p.Journal.Mark() // read first: changes of earlier records are pending by now
	for t, positions := range p.take(all) {
		p.ready = append(p.ready, piecesOf(t, positions)...)
	}
	slices.SortStableFunc(p.ready, func(a, b changedCells) int {
		byGen := cmp.Compare(a.target.Gen, b.target.Gen)
		if a.target.Kind == layout.SketchFilter {
			byGen = -byGen
		}
		return cmp.Or(cmp.Compare(rank(a.target.Kind), rank(b.target.Kind)), byGen)
	})
	if all {
		p.readyMark = mark
	}
	return p.readyFrom(all)
}

// piecesOf returns positions in the order in which they are published. Of sketches, the newest are
// published first: their filter contains what was reported and what was revoked, and a reader that
// has only the first deltas must not find near-duplicates of messages that were revoked since.
func piecesOf(t layout.Target, positions []uint64) (pieces []changedCells) {
	for len(positions) > 0 {
		first := 0
		if t.Kind == layout.SketchFilter {
			first = max(0, len(positions)-MaxDeltaCells)
		}
		piece := positions[first:]
		slices.Sort(piece)
		pieces, positions = append(pieces, changedCells{t, slices.Compact(piece)}), positions[:first]
	}
	return pieces
}

// rank returns the place of a kind in the order of publication.
func rank(k layout.Kind) int { return slices.Index(layout.PublishOrder[:], k) }

// readyFrom returns the index of the first entry of ready that can be published, -1 if there is
// none. Unless all is set, only urgent ones can. The caller holds deltaMu.
func (p *Outbox) readyFrom(all bool) int {
	return slices.IndexFunc(p.ready, func(c changedCells) bool { return all || c.target.Kind.Urgent() })
}

// take removes the changes from pending, all of them or the urgent ones. Changes made while the
// clock was ahead stay until their period begins: other sites would reject everything from
// this site until then. The caller holds deltaMu.
func (p *Outbox) take(all bool) map[layout.Target][]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasBegun() || p.lost {
		p.lost = false
		p.skipNumber() // NextDelta writes the identity
	}
	taken := make(map[layout.Target][]uint64, len(p.pending))
	for t, positions := range p.pending {
		if (all || t.Kind.Urgent()) && !p.isFuture(t) {
			taken[t] = positions
			p.total -= len(positions)
			delete(p.pending, t)
		}
	}
	p.compactAt = 0
	return taken
}

// isFuture reports whether a generation has not begun. Its changes are not published yet.
func (p *Outbox) isFuture(t layout.Target) bool { return p.Opt.Future(t, 0) }

// takeSections takes cells for one delta, from an index in ready. A delta contains only one kind. A
// receiver may have to reject one kind: its parameters differ, the site exceeded a cap, or the kind
// is unknown to it. It must not lose the other kinds, revocations least of all.
func (p *Outbox) takeSections(at int) []wire.DeltaSection {
	var sections []wire.DeltaSection
	kind := p.ready[at].target.Kind
	for room := MaxDeltaCells; at < len(p.ready) && room > 0; {
		next := &p.ready[at]
		if next.target.Kind != kind || kind == layout.SketchFilter && len(sections) > 0 {
			break // a piece of sketches is a delta of its own
		}
		n := min(room, len(next.positions))
		if s, ok := p.changedSection(next.target, next.positions[:n]); ok {
			sections = append(sections, s)
		}
		room -= n
		if next.positions = next.positions[n:]; len(next.positions) == 0 {
			p.ready = slices.Delete(p.ready, at, at+1)
		}
	}
	return sections
}

// changedSection returns the cells with their current values.
func (p *Outbox) changedSection(t layout.Target, positions []uint64) (wire.DeltaSection, bool) {
	own, ok := p.Store.OwnFilter(t)
	if !ok {
		return wire.DeltaSection{}, false
	}
	sec := wire.DeltaSection{Target: t, Shape: own.Shape, Cells: make([]filter.Cell, 0, len(positions))}
	for _, pos := range positions {
		if v := own.Cell(pos); v > 0 {
			sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: v})
		}
	}
	return sec, len(sec.Cells) > 0
}

// Published reports to the outbox that the delta is in the stream.
func (p *Outbox) Published(d wire.Delta) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.flight == nil || p.flight.delta.Epoch != d.Epoch || p.flight.delta.Seq != d.Seq {
		return nil
	}
	p.confirm()
	return nil
}

// confirm marks the delta in flight as published. The caller holds deltaMu.
func (p *Outbox) confirm() {
	p.ID.TailSeq, p.dirty = p.flight.delta.Seq, true
	p.ID.PublishedSeq = max(p.ID.PublishedSeq, p.ID.TailSeq)
	if p.flight.done {
		p.ID.PublishedLSN = max(p.ID.PublishedLSN, p.readyMark)
	}
	p.flight = nil
}
