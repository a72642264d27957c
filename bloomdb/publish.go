package bloomdb

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	maxDeltaCells  = 100_000   // cells of a delta: with these it stays below 1 MiB
	maxPending     = 4_000_000 // positions kept for the next deltas: 32 MB
	maxUnpublished = 256 << 20 // bytes of journal kept for unpublished changes
	identityWrites = 5 * time.Second
	compactPending = 100_000 // positions from which on the pending ones are sorted out
)

// publisher collects what other sites have not been told.
//
//	note -> pending -> ready -> NextDelta -> flight -> Published
//
// The journal keeps the records of what is unpublished; identity tells from
// where. Where that would be too long, a number is left out, which receivers see,
// and a snapshot tells them everything (SnapshotDue).
type publisher struct {
	opt     *settings
	sealer  *sealer
	store   *store
	journal *journal // set once the journal is open

	changed chan struct{} // a report waits in pending; one at most

	mu        sync.Mutex // guards pending, total, compactAt and lost
	on        bool
	pending   map[target][]uint64
	total     int
	compactAt int  // the total at which compact has work
	lost      bool // pending was too long and is forgotten

	deltaMu sync.Mutex // guards all below; taken before mu
	id      identity
	dirty   bool // id is not on disk
	written time.Time
	// leftWritten is the LeftSeq that is on disk.
	leftWritten uint64
	resumed     bool
	ready       []changedCells
	readyMark   lsn // all before it is in ready or published
	flight      *flight
	spare       bool // the reserved number was given to no delta yet
}

// changedCells are positions of one filter, ascending and distinct.
type changedCells struct {
	target    target
	positions []uint64
}

// flight is the delta that was handed out and not yet confirmed.
type flight struct {
	delta Delta
	done  bool // with it, all before readyMark is published
}

func (p *publisher) begin(id identity, on bool) {
	p.id, p.on, p.pending = id, on, make(map[target][]uint64)
	p.changed, p.leftWritten = make(chan struct{}, 1), id.LeftSeq
	if !on && !id.Republish {
		// Changes made from now on are not kept for an exchange that comes later.
		p.id.Republish, p.dirty = true, true
	}
}

// opened notes what the start has found: with which key records are signed from now on,
// and where counts of link domains begin anew.
func (p *publisher) opened(begin lsn, domainsLost bool) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if signing := p.sealer.signingKey; signing != nil {
		if key := PublicKey(signing); p.id.Signer != key {
			p.id.Signer, p.dirty = key, true
		}
	}
	if domainsLost {
		p.id.DomainsLSN, p.dirty = begin, true
	}
}

// isResumed reports whether Resume was called.
func (p *publisher) isResumed() bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.resumed
}

func (p *publisher) epoch() uint64 {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.id.Epoch
}

// note remembers changed cells.
func (p *publisher) note(t target, positions []uint64) {
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
	if t.kind.urgent() {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// urgent reports whether changes are published at once: all but counts.
func (k filterKind) urgent() bool { return k != countFilter }

// Changed receives when a report or a revocation waits to be published.
func (p *publisher) Changed() <-chan struct{} { return p.changed }

// waiting returns how many positions are kept for the next deltas.
func (p *publisher) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// compact sorts out positions that are pending more than once, in a long outage
// most of them, while others may be noted. It does so each time their number has
// doubled. deltaMu keeps gather away meanwhile, which would take what is being
// sorted for published.
func (p *publisher) compact() {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.mu.Lock()
	if p.total < max(compactPending, p.compactAt) {
		p.mu.Unlock()
		return
	}
	pending := p.pending
	p.pending, p.total = make(map[target][]uint64, len(pending)), 0
	p.mu.Unlock()
	for t, positions := range pending {
		slices.Sort(positions)
		p.note(t, slices.Compact(positions))
	}
	p.mu.Lock()
	p.compactAt = 2 * p.total
	p.mu.Unlock()
}

// redo is note for a record that the journal tells again.
func (p *publisher) redo(at lsn, t target, positions []uint64) {
	if at >= p.id.PublishedLSN {
		p.note(t, positions)
	}
}

// write brings the identity to disk where it has changed.
func (p *publisher) write(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty || now.Sub(p.written) < identityWrites {
		return nil
	}
	return p.writeLocked(dir, now)
}

// rests notes, on disk, which snapshots the folder rests on.
func (p *publisher) rests(dir string, paths []string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	if slices.Equal(names, p.id.Snapshots) {
		return nil
	}
	p.id.Snapshots = names
	return p.writeLocked(dir, now)
}

// republish notes, on disk, that a snapshot has to be published. After an error that is
// known in memory only, and written later.
func (p *publisher) republish(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.id.Republish && !p.dirty {
		return nil
	}
	p.id.Republish, p.dirty = true, true
	return p.writeLocked(dir, now)
}

// close writes it for the last time.
func (p *publisher) close(dir string) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.dirty {
		return nil
	}
	return p.writeLocked(dir, time.Time{})
}

func (p *publisher) writeLocked(dir string, now time.Time) error {
	if err := p.id.write(dir); err != nil {
		return err
	}
	p.dirty, p.written, p.leftWritten = false, now, p.id.LeftSeq
	return nil
}

// keepFrom says from where the journal must be kept, of which all before begin
// stands in snapshots. A journal that is too long is given up: a snapshot is due then.
// While one is due, the journal is kept all the same: what is reported while that one is
// being written may not be in it.
func (p *publisher) keepFrom(begin lsn) (lsn, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.on {
		return begin, p.writeLocked(p.opt.Dir, p.opt.Now())
	}
	if p.journal.bytesFrom(p.id.PublishedLSN) > maxUnpublished {
		p.leaveOut()
		return begin, p.writeLocked(p.opt.Dir, p.opt.Now())
	}
	// The identity on disk must not need what is dropped now.
	return min(begin, p.id.PublishedLSN), p.writeLocked(p.opt.Dir, p.opt.Now())
}

// leaveOut gives a number to no delta: receivers see that something is missing, and
// take the snapshot that is due from now on. deltaMu is held.
func (p *publisher) leaveOut() {
	p.id.Republish, p.dirty = true, true
	p.id.ReservedSeq = max(p.id.ReservedSeq, p.id.PublishedSeq) + 1
	p.id.PublishedSeq, p.id.LeftSeq, p.spare = p.id.ReservedSeq, p.id.ReservedSeq, false
}

// Delta is one message of the exchange: the encoded record and where it stands.
type Delta struct {
	Site  string
	Epoch uint64 // larger for a state folder made later
	Seq   uint64 // 1, 2, 3, ... within an epoch
	Data  []byte // the record; at most 1 MiB
	More  bool   // of what waited when it was made, something is left for the next one
}

// MaxDelta is the size in bytes that no record exceeds.
const MaxDelta = 1 << 20

// Head is the (epoch, seq) up to which this site has published: the number of the last delta, or
// a later one that was left out.
func (p *publisher) Head() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.id.Epoch, p.id.PublishedSeq
}

// NextDelta encodes what changed since the last one: reports and what goes with them, and with
// all set counts too.
func (p *publisher) NextDelta(all bool) (Delta, bool, error) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if !p.resumed {
		return Delta{}, false, nil
	}
	for p.flight == nil {
		next := p.gather(all)
		if p.id.LeftSeq > p.leftWritten { // before a heartbeat tells of it
			if err := p.writeLocked(p.opt.Dir, p.opt.Now()); err != nil {
				return Delta{}, false, err
			}
		}
		if next < 0 {
			if all && p.id.PublishedLSN < p.readyMark {
				p.id.PublishedLSN, p.dirty = p.readyMark, true
			}
			return Delta{}, false, nil
		}
		d, err := p.reserve() // first: what is taken must not be lost to an error
		if err != nil {
			return Delta{}, false, err
		}
		sections := p.takeSections(next)
		if len(sections) == 0 {
			continue // all of it aged out or was empty
		}
		if d.Data = p.sealer.encodeDelta(d, p.id.PublishedSeq, sections); len(d.Data) > MaxDelta {
			return Delta{}, false, fmt.Errorf("delta %d is %d bytes long, must be at most %d", d.Seq, len(d.Data), MaxDelta)
		}
		d.More = p.readyFrom(all) >= 0
		p.flight = &flight{delta: d, done: len(p.ready) == 0}
		p.spare = false
	}
	// Counts wait for the disk here, not in Count: what others were told of must not
	// be forgotten.
	if err := p.journal.flush(); err != nil {
		return Delta{}, false, fmt.Errorf("delta %d: %w", p.flight.delta.Seq, err)
	}
	return p.flight.delta, true, nil
}

// reserve gives the next delta its number, on disk before anybody sees it: were
// it given twice, receivers would take the second delta for the first.
func (p *publisher) reserve() (Delta, error) {
	if !p.spare {
		p.id.ReservedSeq = max(p.id.ReservedSeq, p.id.PublishedSeq) + 1
		if err := p.writeLocked(p.opt.Dir, p.opt.Now()); err != nil {
			p.id.ReservedSeq--
			return Delta{}, err
		}
		p.spare = true
	}
	return Delta{Site: p.opt.Site, Epoch: p.id.Epoch, Seq: p.id.ReservedSeq}, nil
}

// gather moves what is pending to ready, where that has nothing to publish, and
// returns the place in it to go on from: -1 where nothing is to be published. What
// is not urgent stays pending unless all is wanted. The mark is that of the last time
// all was: before it, nothing is pending.
func (p *publisher) gather(all bool) (next int) {
	if next := p.readyFrom(all); next >= 0 {
		return next
	}
	mark := p.journal.mark() // first: a record before it was noted before it
	for t, positions := range p.take(all, p.opt.early) {
		slices.Sort(positions)
		p.ready = append(p.ready, changedCells{t, slices.Compact(positions)})
	}
	slices.SortFunc(p.ready, func(a, b changedCells) int {
		if a.target.before(b.target) {
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
// has: of what is urgent, or of all. deltaMu is held.
func (p *publisher) readyFrom(all bool) int {
	return slices.IndexFunc(p.ready, func(c changedCells) bool { return all || c.target.kind.urgent() })
}

// take empties pending, of what is urgent or of all. What was reported while the clock
// was far ahead waits for its time: others would hear nothing more of this site until
// then. After a crash meanwhile, only snapshots tell it. deltaMu is held.
func (p *publisher) take(all bool, early func(target) bool) map[target][]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		p.lost = false
		p.leaveOut() // NextDelta writes it
	}
	taken := make(map[target][]uint64, len(p.pending))
	for t, positions := range p.pending {
		if (all || t.kind.urgent()) && !early(t) {
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
func (p *publisher) takeSections(at int) []deltaSection {
	var sections []deltaSection
	kind := p.ready[at].target.kind
	for room := maxDeltaCells; at < len(p.ready) && room > 0; {
		next := &p.ready[at]
		if next.target.kind != kind {
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
func (p *publisher) changedSection(t target, positions []uint64) (deltaSection, bool) {
	own, ok := p.store.ownFilter(t)
	if !ok {
		return deltaSection{}, false
	}
	sec := deltaSection{target: t, shape: own.shape, cells: make([]filter.Cell, 0, len(positions))}
	for _, pos := range positions {
		if v := own.cell(pos); v > 0 {
			sec.cells = append(sec.cells, filter.Cell{Pos: pos, Value: v})
		}
	}
	return sec, len(sec.cells) > 0
}

// ownFilter gives access to one of the site's own filters, of either form.
type ownFilter struct {
	shape shape
	cell  func(pos uint64) uint32
	block func(i uint64, dst []filter.Cell) []filter.Cell
}

func (st *store) ownFilter(t target) (f ownFilter, ok bool) {
	v := st.view.Load()
	if t.kind == countFilter {
		g := v.count(t.gen)
		if g == nil || g.own == nil {
			return f, false
		}
		return ownFilter{countsShape(g.own.Shape()), g.own.Cell, g.own.Block}, true
	}
	g := v.report(t.gen)
	switch {
	case g == nil:
		return f, false
	case t.kind == domainFilter:
		if g.domains == nil {
			return f, false
		}
		return ownFilter{countsShape(g.domains.Shape()), g.domains.Cell, g.domains.Block}, true
	case g.listing(t.kind).own == nil:
		return f, false
	}
	own := g.listing(t.kind).own
	bit := func(pos uint64) uint32 {
		if own.Bit(pos) {
			return 1
		}
		return 0
	}
	return ownFilter{bitsShape(own.Shape()), bit, own.Block}, true
}

// Published says that the delta stands in the stream and need not be kept.
func (p *publisher) Published(d Delta) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.flight == nil || p.flight.delta.Epoch != d.Epoch || p.flight.delta.Seq != d.Seq {
		return nil
	}
	p.confirm()
	return nil
}

// confirm takes the delta in flight as published. deltaMu is held.
func (p *publisher) confirm() {
	p.id.TailSeq, p.dirty = p.flight.delta.Seq, true
	p.id.PublishedSeq = max(p.id.PublishedSeq, p.id.TailSeq)
	if p.flight.done {
		p.id.PublishedLSN = max(p.id.PublishedLSN, p.readyMark)
	}
	p.flight = nil
}
