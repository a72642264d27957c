package follower

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// loadTries is how often reading a snapshot is restarted because the site published the
// next one meanwhile.
const loadTries = 5

// snapshotRate is the number of bytes a second that are read of one site's snapshots on average. A
// site announces a snapshot in a few bytes, with each heartbeat if it likes, and each other site
// reads up to 32 GiB for it.
const snapshotRate = 128 << 10

// pay postpones the next snapshot of a site by the time for which n bytes count.
func (o *origin) pay(n int, now time.Time) {
	if o.rested.Before(now) {
		o.rested = now
	}
	o.rested = o.rested.Add(time.Duration(n) * time.Second / snapshotRate)
}

// isRested reports whether a snapshot of the site may be read. One that is being read is read to
// its end.
func (o *origin) isRested(now time.Time) bool { return !now.Before(o.rested) }

// heldChunks is the number of chunks of a snapshot whose ids are held in memory while it is read: 16 KiB.
// A manifest lists up to 32 times as many, and a holder of the federation key has one under each
// invented name. The manifest is read again for the next ones, so that no snapshot waits for another.
const heldChunks = 1 << 10

// loading is a snapshot being read.
type loading struct {
	manifest wire.Manifest          // with the ids of the next chunks
	id       [wire.ChunkDigest]byte // of the manifest's record
	next     int                    // number of the next chunk
	tries    int
}

// beginLoading checks a site's snapshot, and starts reading it if it helps.
func (f *Follower) beginLoading(ctx context.Context, o *origin) error {
	record, err := f.streams.Manifest(ctx, o.site)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	f.mu.Lock()
	o.looked = o.snapshot
	o.pay(len(record), time.Now())
	f.mu.Unlock()
	l, err := f.readManifest(o, record, err)
	switch {
	case err != nil && isDeferrable(err):
		f.hold(o, err, time.Now())
	case err != nil:
		f.refuse(o, refusal.CauseOf(err), err)
		f.giveUp(o)
	case l == nil:
		f.giveUp(o)
	default:
		f.setLoading(o, l)
	}
	return nil
}

// readManifest returns the snapshot to read, or nil if it does not help.
func (f *Follower) readManifest(o *origin, record []byte, err error) (*loading, error) {
	if err != nil || record == nil {
		return nil, err
	}
	m, err := f.db.ReadManifest(record)
	if err != nil {
		return nil, err
	}
	if m.Site != o.site {
		return nil, fmt.Errorf("%w: manifest of %s is %s", refusal.ErrOrigin, o.site, m.Head)
	}
	if err := o.checkFloor(m.Epoch); err != nil {
		return nil, err
	}
	at := streams.At(m.Epoch, m.Seq)
	switch {
	case o.gap != (streams.Position{}) && (at.Epoch != o.gap.Epoch || !at.After(o.at)):
		return nil, nil // stale epoch, or too old
	case o.gap == (streams.Position{}) && o.gaps == 0 && !at.After(o.at):
		return nil, nil
	}
	return &loading{manifest: m.Part(0, heldChunks), id: wire.ChunkID(record)}, nil
}

func (f *Follower) setLoading(o *origin, l *loading) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.loading = l
}

// giveUp continues without a snapshot: the missing deltas are lost until there is one.
func (f *Follower) giveUp(o *origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.loading = nil
	if o.gap != (streams.Position{}) {
		o.lost, o.gap = o.gap, streams.Position{}
	}
}

// passGap continues behind a gap while the site's snapshots rest. What is missing is requested.
func (f *Follower) passGap(_ context.Context, o *origin) error {
	f.giveUp(o)
	return nil
}

// readChunk reads and joins the next chunk. After the last it finishes the snapshot.
func (f *Follower) readChunk(ctx context.Context, o *origin) error {
	l := o.loading
	if l.next == l.manifest.Chunks() {
		f.finishLoading(o)
		return nil
	}
	if !l.manifest.Has(l.next) {
		return f.readIDs(ctx, o)
	}
	chunk, err := f.streams.Chunk(ctx, o.site, l.manifest.Slot, l.next)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	o.pay(len(chunk), time.Now())
	if err == nil && chunk == nil {
		err = fmt.Errorf("chunk %d is missing", l.next)
	}
	if err == nil {
		begin := time.Now()
		if err = f.db.ApplyChunk(l.manifest, l.next, chunk); !isForeign(err) {
			f.spend(o, begin)
		}
	}
	switch {
	case isDeferrable(err):
		f.setLoading(o, nil) // check for it again afterwards
		f.hold(o, err, time.Now())
		return nil
	case isSkippable(err):
		f.refuse(o, refusal.CauseOf(err), err)
	case err != nil:
		return f.loadAgain(ctx, o, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.next++
	return nil
}

// readIDs reads the manifest again, for the ids of the next chunks.
func (f *Follower) readIDs(ctx context.Context, o *origin) error {
	l := o.loading
	record, err := f.streams.Manifest(ctx, o.site)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	o.pay(len(record), time.Now())
	if err == nil && !l.isFrom(record) {
		err = errors.New("the manifest was replaced")
	}
	var m wire.Manifest
	if err == nil {
		m, err = f.db.ReadManifest(record)
	}
	if err != nil {
		return f.loadAgain(ctx, o, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l.manifest = m.Part(l.next, heldChunks)
	return nil
}

// isFrom reports whether the snapshot is that of a manifest's record.
func (l *loading) isFrom(record []byte) bool {
	return len(record) >= wire.ChunkDigest && wire.ChunkID(record) == l.id
}

// isSkippable reports whether a valid record cannot be joined here, and is skipped like a
// refused delta.
func isSkippable(err error) bool {
	return errors.Is(err, layout.ErrParameters) || errors.Is(err, layout.ErrFull) || errors.Is(err, wire.ErrCapped)
}

// loadAgain restarts if the site has published another snapshot meanwhile, and gives up if
// the same one has a bad chunk.
func (f *Follower) loadAgain(ctx context.Context, o *origin, bad error) error {
	record, err := f.streams.Manifest(ctx, o.site)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	o.pay(len(record), time.Now())
	l, tries := o.loading, o.loading.tries+1
	if err == nil && l.isFrom(record) || tries >= loadTries {
		f.refuse(o, refusal.CauseOf(bad), fmt.Errorf("%s: %w", l.manifest.Head, bad))
		f.giveUp(o)
		return nil
	}
	again, err := f.readManifest(o, record, err)
	if err != nil {
		f.refuse(o, refusal.CauseOf(err), err)
	}
	if again == nil {
		f.giveUp(o)
		return nil
	}
	again.tries = tries
	f.setLoading(o, again)
	return nil
}

// finishLoading continues in the stream after the snapshot.
func (f *Follower) finishLoading(o *origin) {
	m, begin := o.loading.manifest, time.Now()
	err := f.db.FinishSnapshot(m)
	f.spend(o, begin)
	if err != nil {
		f.refuse(o, refusal.CauseOf(err), err)
		f.giveUp(o)
		return
	}
	f.metrics.loaded.WithLabelValues(o.site).Inc()
	at := streams.At(m.Epoch, m.Seq)
	f.mu.Lock()
	defer f.mu.Unlock()
	o.loading, o.gap, o.isExhausted = nil, streams.Position{}, false
	o.took, o.looked = at, streams.Later(o.looked, at)
	o.moveTo(streams.Later(o.at, at))
	o.head = streams.Later(o.head, at)
	if !f.db.Wanting(o.site) {
		o.gaps = 0
	}
	// Anyone can put back an earlier snapshot. What it lacks is still requested.
	isAnnounced := o.snapshot.Seq > 0 && !o.snapshot.After(at)
	o.isLatestRefused = isAnnounced && f.db.Refused(m)
	o.settle(time.Now())
}
