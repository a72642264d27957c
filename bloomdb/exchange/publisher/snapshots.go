package publisher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

const (
	// A snapshot is published when the deltas since the last one have as many bytes as that
	// one, but at least snapshotBytes, or when they number snapshotDeltas: a site that
	// catches up reads at most twice the necessary data.
	snapshotBytes  = 4 << 20
	snapshotDeltas = 50_000

	// wantPause is the least time between two snapshots requested by others, and the
	// longest that a snapshot waits after another one.
	wantPause = 10 * time.Minute

	// votesPause is the least time between two publications of the votes, which are always
	// published as a whole.
	votesPause = time.Minute

	// firstPause is half of the least time between two snapshots.
	firstPause = 250 * time.Millisecond

	// noRoomPause is how long no snapshot is begun after one for which Redis had no memory.
	noRoomPause = 10 * time.Minute

	// fullPause is the same after Redis had no memory for something else.
	fullPause = 30 * time.Second
)

// publishedSnapshot describes our snapshot in Redis, and the deltas after it.
type publishedSnapshot struct {
	place        *streams.Place   // nil: there is none
	at           streams.Position // of any epoch
	seq          uint64           // in this epoch; 0: it is not of this epoch
	made         time.Time
	bytes        int64
	deltas       uint64 // published since
	since        int64  // bytes of these deltas, without those of an earlier run
	isIncomplete bool   // deltas are missing that the stream does not have either
}

// snapshotWriting is a snapshot being written.
type snapshotWriting struct {
	writer  *outbox.SnapshotWriter
	place   streams.Place
	chunk   []byte // to be written next; nil: not created yet
	cleared bool   // old data was removed from the slot
	cut     bool   // it has reached the limit
}

// findSnapshot looks for our snapshot in Redis, for a stream that ends with tail. An
// unreadable one counts as none.
func (p *Publisher) findSnapshot(ctx context.Context, tail streams.Position) error {
	p.snapshot = publishedSnapshot{}
	p.setShown(nil)
	data, err := p.streams.Manifest(ctx, p.site)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	if data == nil {
		return nil
	}
	m, err := p.db.ReadManifest(data)
	if err != nil || m.Site != p.site || (m.Slot != streams.FirstSlot && m.Slot != streams.SecondSlot) {
		return nil
	}
	p.snapshot = publishedSnapshot{place: &streams.Place{Slot: m.Slot, Chunks: m.Chunks()}, at: streams.At(m.Epoch, m.Seq), bytes: m.Bytes}
	if now := time.Now(); m.Made.Before(now) { // otherwise the clock was wrong: the next one is due
		p.snapshot.made = m.Made
	}
	if epoch, seq := p.db.Head(); epoch == m.Epoch && m.Seq <= seq {
		p.snapshot.seq, p.snapshot.deltas = m.Seq, seq-m.Seq
		p.snapshot.isIncomplete = m.Seq < seq && streams.At(epoch, seq).After(tail) // Redis was restored from older data
		p.setShown(&p.snapshot.at)
	}
	return nil
}

// isSnapshotDue reports whether to begin the next one. A site that has published nothing
// needs none.
func (p *Publisher) isSnapshotDue(now time.Time) bool {
	_, seq := p.db.Head()
	s := &p.snapshot
	switch {
	case seq == 0, now.Before(p.noRoom), now.Before(p.notBefore):
		return false
	case s.seq == 0 || s.isIncomplete || p.db.SnapshotDue() || p.isWanted(s.made, now):
		return true
	case s.since > max(snapshotBytes, s.bytes) || s.deltas > snapshotDeltas:
		return true
	}
	return s.deltas > 0 && now.Sub(s.made) >= p.o.SnapshotInterval
}

// beginSnapshot starts writing one. The pause until the next one doubles each time, so that
// another client that keeps destroying snapshots does not make this site publish all the
// time.
func (p *Publisher) beginSnapshot() {
	now := time.Now()
	if now.Sub(p.begun) > 2*wantPause {
		p.consecutive = 0
	}
	p.consecutive++
	p.begun = now
	p.notBefore = now.Add(min(firstPause<<min(p.consecutive, 20), wantPause, p.o.SnapshotInterval))
	p.writing = &snapshotWriting{writer: p.db.NewSnapshot(), place: streams.Place{Slot: p.unusedSlot()}}
}

// unusedSlot returns the slot without the current snapshot.
func (p *Publisher) unusedSlot() byte {
	if p.snapshot.place == nil {
		return streams.FirstSlot
	}
	return streams.OtherSlot(p.snapshot.place.Slot)
}

// makeRoom frees the memory of an incomplete snapshot, from now or before a crash, because
// the reports of all sites wait for memory.
func (p *Publisher) makeRoom(ctx context.Context) error {
	pause := fullPause
	if p.writing != nil {
		pause = noRoomPause
		p.log.Warn("Redis is out of memory: the unfinished snapshot is removed, and retried later",
			"chunks", p.writing.place.Chunks, "bytes", p.writing.writer.Bytes(), "in", noRoomPause)
	}
	p.writing = nil
	if until := time.Now().Add(min(pause, p.o.SnapshotInterval)); until.After(p.noRoom) {
		p.noRoom = until
	}
	return p.streams.ClearSlot(ctx, p.site, p.unusedSlot())
}

// writeSnapshot does one step of writing: it empties the slot, writes a chunk, or ends with
// the manifest. A crash leaves chunks that no manifest names.
func (p *Publisher) writeSnapshot(ctx context.Context) error {
	w := p.writing
	if !w.cleared {
		err := p.streams.ClearSlot(ctx, p.site, w.place.Slot)
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
	if err := p.streams.WriteChunk(ctx, p.site, w.place.Slot, w.place.Chunks, w.chunk); err != nil {
		return err
	}
	w.chunk = nil
	w.place.Chunks++
	return nil
}

// nextChunk creates the next chunk. It returns false at the end.
func (p *Publisher) nextChunk(w *snapshotWriting) (more bool, err error) {
	if !w.cut && w.writer.Bytes() > p.o.SnapshotLimit-wire.MaxDelta {
		w.cut = true
		w.writer.LeaveRest()
		p.log.Warn("snapshot has reached its size limit in Redis: the rest is omitted",
			"limit", p.o.SnapshotLimit, "chunks", w.place.Chunks)
	}
	if w.chunk, more, err = w.writer.Next(); err != nil {
		return false, fmt.Errorf("chunk %d of the snapshot: %w", w.place.Chunks, err)
	}
	return more, nil
}

// commitSnapshot makes the written data the site's snapshot. The stream is trimmed up to
// the previous snapshot, so that a site still reading that one can continue after it.
func (p *Publisher) commitSnapshot(ctx context.Context) error {
	w := p.writing
	made := publishedSnapshot{place: &w.place, seq: w.writer.Seq(), made: time.Now(), bytes: w.writer.Bytes()}
	epoch, seq := p.db.Head()
	made.at, made.deltas = streams.At(epoch, made.seq), seq-made.seq
	err := p.streams.Commit(ctx, streams.Commit{
		Site: p.site, Place: w.place, Trim: p.snapshot.at,
		Manifest: w.writer.Manifest(w.place.Slot), Heartbeat: p.heartbeat(made.seq),
	})
	if errors.Is(err, streams.ErrSnapshotLost) {
		p.writing = nil // Redis lost writes; the next beat starts again
		return nil
	}
	if err != nil {
		return err
	}
	p.writing, p.snapshot = nil, made
	p.setShown(&made.at)
	p.metrics.snapshots.Inc()
	p.metrics.snapshotBytes.Set(float64(made.bytes))
	if err := p.db.SnapshotPublished(w.writer); err != nil {
		return fmt.Errorf("snapshot %v: %w", made.at, err)
	}
	return nil
}

// setShown sets the position of our snapshot for Status.
func (p *Publisher) setShown(at *streams.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = at
}

// isWanted reports whether another site has requested the data since its last publication,
// and the pause since then is over.
func (p *Publisher) isWanted(published, now time.Time) bool {
	if published.After(now) { // in Redis since an earlier run, whose clock was ahead
		published = time.Time{}
	}
	return p.requests.Wanted().After(published) && now.Sub(published) >= min(wantPause, p.o.SnapshotInterval)
}

// publishVotes publishes the votes if they have changed.
func (p *Publisher) publishVotes(ctx context.Context) error {
	now := time.Now()
	changed := now.Sub(p.votesAt) >= votesPause && p.db.VotesStamp() != p.votes
	if !changed && !p.isWanted(p.votesAt, now) {
		return nil
	}
	record, stamp, err := p.db.Votes()
	if err != nil {
		return fmt.Errorf("votes: %w", err)
	}
	if err := p.streams.WriteVotes(ctx, p.site, record); err != nil {
		return err
	}
	p.votes, p.votesAt = stamp, now
	return nil
}
