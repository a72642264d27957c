package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

const (
	// A snapshot is published when the deltas since the last one have as many bytes
	// as that, at least snapshotBytes, or when they are snapshotDeltas: who comes
	// late reads at most twice what there is to know.
	snapshotBytes  = 4 << 20
	snapshotDeltas = 50_000

	// votesPause is the least time between two publications of the votes, which are
	// always told whole.
	votesPause = time.Minute

	// firstPause is half of the least time between two snapshots.
	firstPause = 250 * time.Millisecond

	// noRoomPause is how long no snapshot is begun after Redis had no memory left.
	noRoomPause = 10 * time.Minute
)

// publishedSnapshot is what is known of our snapshot in Redis, and of what came
// after it.
type publishedSnapshot struct {
	place  *place   // nil: there is none
	at     Position // of whatever life
	seq    uint64   // of this life; 0: it is none of this life
	made   time.Time
	bytes  int64
	deltas uint64 // published since
	since  int64  // bytes of them, those of an earlier run left out
	lacks  bool   // numbers that the stream does not have either
}

// snapshotWriting is a snapshot that is being written.
type snapshotWriting struct {
	writer  *bloomdb.SnapshotWriter
	place   place
	chunk   []byte // to be written next; nil: to be made
	cleared bool   // the slot is empty of what was left behind
	cut     bool   // it has reached the limit
}

// findSnapshot looks for our snapshot in Redis, beside a stream that ends with tail.
// One that can't be read is none.
func (p *publisher) findSnapshot(ctx context.Context, tail Position) error {
	p.snapshot = publishedSnapshot{}
	p.setSnapshot(nil)
	data, err := p.wire.manifest(ctx, p.site)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	if data == nil {
		return nil
	}
	m, err := p.db.ReadManifest(data)
	if err != nil || m.Site != p.site || (m.Slot != firstSlot && m.Slot != secondSlot) {
		return nil
	}
	p.snapshot = publishedSnapshot{place: &place{m.Slot, m.Chunks()}, at: Position{m.Epoch, m.Seq}, bytes: m.Bytes}
	if now := time.Now(); m.Made.Before(now) { // else by a wrong clock: the next one is due
		p.snapshot.made = m.Made
	}
	if epoch, seq := p.db.Head(); epoch == m.Epoch && m.Seq <= seq {
		p.snapshot.seq, p.snapshot.deltas = m.Seq, seq-m.Seq
		p.snapshot.lacks = m.Seq < seq && (Position{epoch, seq}).after(tail) // Redis came back with older data
		p.setSnapshot(&p.snapshot.at)
	}
	return nil
}

// snapshotDue says whether it is time for the next one. A site that has published
// nothing needs none.
func (p *publisher) snapshotDue(now time.Time) bool {
	_, seq := p.db.Head()
	s := &p.snapshot
	switch {
	case seq == 0, now.Before(p.noRoom), now.Before(p.again):
		return false
	case s.seq == 0 || s.lacks || p.db.SnapshotDue() || p.isWanted(s.made, now):
		return true
	case s.since > max(snapshotBytes, s.bytes) || s.deltas > snapshotDeltas:
		return true
	}
	return s.deltas > 0 && now.Sub(s.made) >= p.o.SnapshotInterval
}

// beginSnapshot begins to write one. The next one waits, twice as long each time: another
// client that destroys one after the other does not make this site publish all the time.
func (p *publisher) beginSnapshot() {
	now := time.Now()
	if now.Sub(p.begun) > 2*wantPause {
		p.row = 0
	}
	p.row++
	p.begun = now
	p.again = now.Add(min(firstPause<<min(p.row, 20), wantPause, p.o.SnapshotInterval))
	p.writing = &snapshotWriting{writer: p.db.NewSnapshot(), place: place{slot: p.unusedSlot()}}
}

// unusedSlot is the slot that no snapshot stands in.
func (p *publisher) unusedSlot() byte {
	if p.snapshot.place == nil {
		return firstSlot
	}
	return otherSlot(p.snapshot.place.slot)
}

// makeRoom gives back the memory of a snapshot that is not whole, of now or from
// before a crash, since all sites' reports wait for it.
func (p *publisher) makeRoom(ctx context.Context) error {
	if p.writing != nil {
		p.log.Warn("Redis has no memory left: the snapshot that was being written is given up, and tried again later",
			"chunks", p.writing.place.chunks, "bytes", p.writing.writer.Bytes(), "in", noRoomPause)
	}
	p.writing = nil
	p.noRoom = time.Now().Add(min(noRoomPause, p.o.SnapshotInterval))
	return p.wire.clearSlot(ctx, p.site, p.unusedSlot())
}

// writeSnapshot does one step of writing: empties the slot, writes a chunk, or ends
// with the manifest. A crash leaves chunks that no manifest names.
func (p *publisher) writeSnapshot(ctx context.Context) error {
	w := p.writing
	if !w.cleared {
		err := p.wire.clearSlot(ctx, p.site, w.place.slot)
		w.cleared = err == nil
		return err
	}
	if w.chunk == nil {
		more, err := p.nextChunk(w)
		if err != nil {
			return err
		}
		if !more {
			return p.commitSnapshot(ctx)
		}
	}
	if err := p.wire.writeChunk(ctx, p.site, w.place.slot, w.place.chunks, w.chunk); err != nil {
		return err
	}
	w.chunk = nil
	w.place.chunks++
	return nil
}

// nextChunk makes the next chunk; false at the end.
func (p *publisher) nextChunk(w *snapshotWriting) (more bool, err error) {
	if !w.cut && w.writer.Bytes() > p.o.SnapshotLimit-bloomdb.MaxDelta {
		w.cut = true
		w.writer.LeaveRest()
		p.log.Warn("the snapshot has reached its limit in Redis, what is left has no place in it",
			"limit", p.o.SnapshotLimit, "chunks", w.place.chunks)
	}
	if w.chunk, more, err = w.writer.Next(); err != nil {
		return false, fmt.Errorf("chunk %d of the snapshot: %w", w.place.chunks, err)
	}
	return more, nil
}

// commitSnapshot makes what was written the site's snapshot. The stream is trimmed
// up to the one before, so that who is reading that one can go on behind it.
func (p *publisher) commitSnapshot(ctx context.Context) error {
	w := p.writing
	made := publishedSnapshot{place: &w.place, seq: w.writer.Seq(), made: time.Now(), bytes: w.writer.Bytes()}
	epoch, seq := p.db.Head()
	made.at, made.deltas = Position{epoch, made.seq}, seq-made.seq
	err := p.wire.commit(ctx, commit{
		site: p.site, place: w.place, trim: p.snapshot.at,
		manifest: w.writer.Manifest(w.place.slot), heartbeat: p.heartbeat(made.seq),
	})
	if errors.Is(err, errSnapshotLost) {
		p.writing = nil // Redis lost writes meanwhile; the next beat begins again
		return nil
	}
	if err != nil {
		return err
	}
	p.writing, p.snapshot = nil, made
	p.setSnapshot(&made.at)
	p.metrics.snapshots.Inc()
	p.metrics.snapshotBytes.Set(float64(made.bytes))
	if err := p.db.SnapshotPublished(w.writer); err != nil {
		return fmt.Errorf("snapshot %v: %w", made.at, err)
	}
	return nil
}

// setSnapshot tells Status where our snapshot stands.
func (x *Exchange) setSnapshot(at *Position) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.snapshot = at
}

// publishVotes publishes the votes, where they have changed.
func (p *publisher) publishVotes(ctx context.Context) error {
	now := time.Now()
	changed := now.Sub(p.votesAt) >= votesPause && p.db.VotesStamp() != p.votes
	if !changed && !p.isWanted(p.votesAt, now) {
		return nil
	}
	record, stamp, err := p.db.Votes()
	if err != nil {
		return fmt.Errorf("votes: %w", err)
	}
	if err := p.wire.writeVotes(ctx, p.site, record); err != nil {
		return err
	}
	p.votes, p.votesAt = stamp, now
	return nil
}
