package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// loadTries is how often reading a snapshot is restarted because the site published the
// next one meanwhile.
const loadTries = 5

// loading is a snapshot being read.
type loading struct {
	manifest wire.Manifest
	record   []byte // of the manifest
	next     int    // number of the next chunk
	tries    int
}

// beginLoading checks a site's snapshot, and starts reading it if it helps.
func (x *Exchange) beginLoading(ctx context.Context, o *origin) error {
	record, err := x.wire.manifest(ctx, o.site)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	x.mu.Lock()
	o.looked = o.snapshot
	x.mu.Unlock()
	l, err := x.readManifest(o, record, err)
	switch {
	case err != nil && isDeferrable(err):
		x.hold(o, err, time.Now())
	case err != nil:
		x.refuse(o, causeOf(err), err)
		x.giveUp(o)
	case l == nil:
		x.giveUp(o)
	default:
		x.setLoading(o, l)
	}
	return nil
}

// readManifest returns the snapshot to read, or nil if it does not help.
func (x *Exchange) readManifest(o *origin, record []byte, err error) (*loading, error) {
	if err != nil || record == nil {
		return nil, err
	}
	m, err := x.db.ReadManifest(record)
	if err != nil {
		return nil, err
	}
	if m.Site != o.site {
		return nil, fmt.Errorf("%w: manifest of %s is %s", errOrigin, o.site, m.Head)
	}
	at := Position{m.Epoch, m.Seq}
	switch {
	case o.gap != (Position{}) && (at.Epoch != o.gap.Epoch || !at.after(o.at)):
		return nil, nil // stale epoch, or too old
	case o.gap == (Position{}) && o.gaps == 0 && !at.after(o.at):
		return nil, nil
	}
	return &loading{manifest: m, record: record}, nil
}

func (x *Exchange) setLoading(o *origin, l *loading) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o.loading = l
}

// giveUp continues without a snapshot: the missing deltas are lost until there is one.
func (x *Exchange) giveUp(o *origin) {
	x.mu.Lock()
	defer x.mu.Unlock()
	o.loading = nil
	if o.gap != (Position{}) {
		o.lost, o.gap = o.gap, Position{}
	}
}

// readChunk reads and joins the next chunk. After the last it finishes the snapshot.
func (x *Exchange) readChunk(ctx context.Context, o *origin) error {
	l := o.loading
	if l.next == l.manifest.Chunks() {
		x.finishLoading(o)
		return nil
	}
	chunk, err := x.wire.chunk(ctx, o.site, l.manifest.Slot, l.next)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	if err == nil && chunk == nil {
		err = fmt.Errorf("chunk %d is missing", l.next)
	}
	if err == nil {
		err = x.db.ApplyChunk(l.manifest, l.next, chunk)
	}
	switch {
	case isDeferrable(err):
		x.setLoading(o, nil) // check for it again afterwards
		x.hold(o, err, time.Now())
		return nil
	case isSkippable(err):
		x.refuse(o, causeOf(err), err)
	case err != nil:
		return x.loadAgain(ctx, o, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	l.next++
	return nil
}

// isSkippable reports whether a valid record cannot be joined here, and is skipped like a
// refused delta.
func isSkippable(err error) bool {
	return errors.Is(err, layout.ErrParameters) || errors.Is(err, bloomdb.ErrFull) || errors.Is(err, wire.ErrCapped)
}

// loadAgain restarts if the site has published another snapshot meanwhile, and gives up if
// the same one has a bad chunk.
func (x *Exchange) loadAgain(ctx context.Context, o *origin, bad error) error {
	record, err := x.wire.manifest(ctx, o.site)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	l, tries := o.loading, o.loading.tries+1
	if err == nil && bytes.Equal(record, l.record) || tries >= loadTries {
		x.refuse(o, causeOf(bad), fmt.Errorf("%s: %w", l.manifest.Head, bad))
		x.giveUp(o)
		return nil
	}
	again, err := x.readManifest(o, record, err)
	if err != nil {
		x.refuse(o, causeOf(err), err)
	}
	if again == nil {
		x.giveUp(o)
		return nil
	}
	again.tries = tries
	x.setLoading(o, again)
	return nil
}

// finishLoading continues in the stream after the snapshot.
func (x *Exchange) finishLoading(o *origin) {
	m := o.loading.manifest
	if err := x.db.FinishSnapshot(m); err != nil {
		x.refuse(o, causeOf(err), err)
		x.giveUp(o)
		return
	}
	x.metrics.loaded.WithLabelValues(o.site).Inc()
	at := Position{m.Epoch, m.Seq}
	x.mu.Lock()
	defer x.mu.Unlock()
	o.loading, o.gap, o.isExhausted = nil, Position{}, false
	o.took, o.looked = at, later(o.looked, at)
	o.moveTo(later(o.at, at))
	o.head = later(o.head, at)
	if o.isLatestRefused = x.db.Wanting(o.site); !o.isLatestRefused {
		o.gaps = 0
	}
	o.settle(time.Now())
}
