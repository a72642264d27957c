package outbox

import (
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
	MaxDeltaCells  = 100_000   // cells of a delta: with these it stays below 1 MiB
	maxPending     = 4_000_000 // positions kept for the next deltas: 32 MB
	maxUnpublished = 256 << 20 // bytes of journal kept for unpublished changes
	identityWrites = 5 * time.Second
	compactPending = 100_000 // positions from which on the pending ones are sorted out
)

// Outbox collects changes that have not been sent to other sites.
//
//	note -> pending -> ready -> NextDelta -> flight -> Published
//
// The journal keeps the records of what is unpublished; identity tells from
// where. Where that would be too long, a number is left out, which receivers see,
// and a snapshot tells them everything (SnapshotDue).
type Outbox struct {
	Opt     *layout.Settings
	Sealer  *wire.Sealer
	Store   *store.Store
	Journal *journal.Log // set once the journal is open

	changed chan struct{} // a report waits in pending; one at most

	mu        sync.Mutex // guards pending, total, compactAt and lost
	on        bool
	pending   map[layout.Target][]uint64
	total     int
	compactAt int  // the total at which compact has work
	lost      bool // pending was too long and is forgotten

	deltaMu sync.Mutex // guards all below; taken before mu
	ID      folder.Identity
	dirty   bool // id is not on disk
	written time.Time
	// leftWritten is the LeftSeq that is on disk.
	leftWritten uint64
	resumed     bool
	ready       []changedCells
	readyMark   folder.LSN // all before it is in ready or published
	flight      *flight
	spare       bool // the reserved number was given to no delta yet
}

// changedCells are positions of one filter, ascending and distinct.
type changedCells struct {
	target    layout.Target
	positions []uint64
}

// flight is the delta that was handed out and not yet confirmed.
type flight struct {
	delta wire.Delta
	done  bool // with it, all before readyMark is published
}

func (p *Outbox) Begin(id folder.Identity, on bool) {
	p.ID, p.on, p.pending = id, on, make(map[layout.Target][]uint64)
	p.changed, p.leftWritten = make(chan struct{}, 1), id.LeftSeq
	if !on && !id.Republish {
		// Changes made from now on are not kept for an exchange that comes later.
		p.ID.Republish, p.dirty = true, true
	}
}

// Opened notes what the start has found: with which key records are signed from now on,
// and where counts of link domains begin anew.
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

// Note remembers changed cells.
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

// Changed receives when a report or a revocation waits to be published.
func (p *Outbox) Changed() <-chan struct{} { return p.changed }

// Waiting returns how many positions are kept for the next deltas.
func (p *Outbox) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// Compact sorts out positions that are pending more than once, in a long outage
// most of them, while others may be noted. It does so each time their number has
// doubled. deltaMu keeps gather away meanwhile, which would take what is being
// sorted for published.
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
	p.mu.Unlock()
	for t, positions := range pending {
		slices.Sort(positions)
		p.Note(t, slices.Compact(positions))
	}
	p.mu.Lock()
	p.compactAt = 2 * p.total
	p.mu.Unlock()
}

// Redo is note for a record that the journal tells again.
func (p *Outbox) Redo(at folder.LSN, t layout.Target, positions []uint64) {
	if at >= p.ID.PublishedLSN {
		p.Note(t, positions)
	}
}

// Write brings the identity to disk where it has changed.
func (p *Outbox) Write(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty || now.Sub(p.written) < identityWrites {
		return nil
	}
	return p.writeLocked(dir, now)
}

// Rests notes, on disk, which snapshots the folder rests on.
func (p *Outbox) Rests(dir string, paths []string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	if slices.Equal(names, p.ID.Snapshots) {
		return nil
	}
	p.ID.Snapshots = names
	return p.writeLocked(dir, now)
}

// Republish notes, on disk, that a snapshot has to be published. After an error that is
// known in memory only, and written later.
func (p *Outbox) Republish(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.ID.Republish && !p.dirty {
		return nil
	}
	p.ID.Republish, p.dirty = true, true
	return p.writeLocked(dir, now)
}

// Close writes it for the last time.
func (p *Outbox) Close(dir string) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty {
		return nil
	}
	return p.writeLocked(dir, time.Time{})
}

func (p *Outbox) writeLocked(dir string, now time.Time) error {
	if err := p.ID.Write(dir); err != nil {
		return err
	}
	p.dirty, p.written, p.leftWritten = false, now, p.ID.LeftSeq
	return nil
}

// KeepFrom says from where the journal must be kept, of which all before begin
// stands in snapshots. A journal that is too long is given up: a snapshot is due then.
// While one is due, the journal is kept all the same: what is reported while that one is
// being written may not be in it.
func (p *Outbox) KeepFrom(begin folder.LSN) (folder.LSN, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.on {
		return begin, p.writeLocked(p.Opt.Dir, p.Opt.Now())
	}
	if p.Journal.BytesFrom(p.ID.PublishedLSN) > maxUnpublished {
		p.leaveOut()
		return begin, p.writeLocked(p.Opt.Dir, p.Opt.Now())
	}
	// The identity on disk must not need what is dropped now.
	return min(begin, p.ID.PublishedLSN), p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// leaveOut gives a number to no delta: receivers see that something is missing, and
// take the snapshot that is due from now on. The caller holds deltaMu.
func (p *Outbox) leaveOut() {
	p.ID.Republish, p.dirty = true, true
	p.ID.ReservedSeq = max(p.ID.ReservedSeq, p.ID.PublishedSeq) + 1
	p.ID.PublishedSeq, p.ID.LeftSeq, p.spare = p.ID.ReservedSeq, p.ID.ReservedSeq, false
}

// Head is the (epoch, seq) up to which this site has published: the number of the last delta, or
// a later one that was left out.
func (p *Outbox) Head() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Epoch, p.ID.PublishedSeq
}

// NextDelta encodes what changed since the last one: reports and what goes with them, and with
// all set counts too.
func (p *Outbox) NextDelta(all bool) (wire.Delta, bool, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.resumed {
		return wire.Delta{}, false, nil
	}
	for p.flight == nil {
		next := p.gather(all)
		if p.ID.LeftSeq > p.leftWritten { // before a heartbeat tells of it
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
		d, err := p.reserve() // first: what is taken must not be lost to an error
		if err != nil {
			return wire.Delta{}, false, err
		}
		sections := p.takeSections(next)
		if len(sections) == 0 {
			continue // all of it aged out or was empty
		}
		if d.Data = p.Sealer.EncodeDelta(d, p.ID.PublishedSeq, sections); len(d.Data) > wire.MaxDelta {
			return wire.Delta{}, false, fmt.Errorf("delta %d is %d bytes long, must be at most %d", d.Seq, len(d.Data), wire.MaxDelta)
		}
		d.More = p.readyFrom(all) >= 0
		p.flight = &flight{delta: d, done: len(p.ready) == 0}
		p.spare = false
	}
	// Counts wait for the disk here, not in Count: what others were told of must not
	// be forgotten.
	if err := p.Journal.Flush(); err != nil {
		return wire.Delta{}, false, fmt.Errorf("delta %d: %w", p.flight.delta.Seq, err)
	}
	return p.flight.delta, true, nil
}

// reserve gives the next delta its number, on disk before anybody sees it: were
// it given twice, receivers would take the second delta for the first.
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

// gather moves what is pending to ready, where that has nothing to publish, and
// returns the place in it to go on from: -1 where nothing is to be published. What
// is not urgent stays pending unless all is wanted. The mark is that of the last time
// all was: before it, nothing is pending.
func (p *Outbox) gather(all bool) (next int) {
	if next := p.readyFrom(all); next >= 0 {
		return next
	}
	mark := p.Journal.Mark() // first: a record before it was noted before it
	for t, positions := range p.take(all, p.Opt.Early) {
		slices.Sort(positions)
		p.ready = append(p.ready, changedCells{t, slices.Compact(positions)})
	}
	slices.SortFunc(p.ready, func(a, b changedCells) int {
		if a.target.Before(b.target) {
			return -1
		}
		return 1
	})
	if all {
		p.readyMark = mark
	}
	return p.readyFrom(all)
}

// readyFrom is the first place in ready that has something to publish, -1 where none
// has: of what is urgent, or of all. The caller holds deltaMu.
func (p *Outbox) readyFrom(all bool) int {
	return slices.IndexFunc(p.ready, func(c changedCells) bool { return all || c.target.Kind.Urgent() })
}

// take empties pending, of what is urgent or of all. What was reported while the clock
// was far ahead waits for its time: others would hear nothing more of this site until
// then. After a crash meanwhile, only snapshots tell it. The caller holds deltaMu.
func (p *Outbox) take(all bool, early func(layout.Target) bool) map[layout.Target][]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		p.lost = false
		p.leaveOut() // NextDelta writes it
	}
	taken := make(map[layout.Target][]uint64, len(p.pending))
	for t, positions := range p.pending {
		if (all || t.Kind.Urgent()) && !early(t) {
			taken[t] = positions
			p.total -= len(positions)
			delete(p.pending, t)
		}
	}
	p.compactAt = 0
	return taken
}

// takeSections takes cells for one delta from a place in ready. Kinds never share a
// delta: who must refuse the one, since its parameters differ, its site sent too much of
// it, or it is not known there, is not to lose the other. A revocation least of all.
func (p *Outbox) takeSections(at int) []wire.DeltaSection {
	var sections []wire.DeltaSection
	kind := p.ready[at].target.Kind
	for room := MaxDeltaCells; at < len(p.ready) && room > 0; {
		next := &p.ready[at]
		if next.target.Kind != kind {
			break
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

// changedSection reads the cells' values as they are now.
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

// Published says that the delta stands in the stream and need not be kept.
func (p *Outbox) Published(d wire.Delta) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.flight == nil || p.flight.delta.Epoch != d.Epoch || p.flight.delta.Seq != d.Seq {
		return nil
	}
	p.confirm()
	return nil
}

// confirm takes the delta in flight as published. The caller holds deltaMu.
func (p *Outbox) confirm() {
	p.ID.TailSeq, p.dirty = p.flight.delta.Seq, true
	p.ID.PublishedSeq = max(p.ID.PublishedSeq, p.ID.TailSeq)
	if p.flight.done {
		p.ID.PublishedLSN = max(p.ID.PublishedLSN, p.readyMark)
	}
	p.flight = nil
}
