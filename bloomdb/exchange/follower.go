package exchange

import (
	"context"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// resyncPeriod is how often all heads are read even if nothing seems missing.
const resyncPeriod = 30 * time.Second

// follow applies the other sites' deltas: from the news if there is no gap before them,
// otherwise from the streams and snapshots. News and small batches of sites that are behind
// take turns, by the random order of select and map, so that a site far behind does not
// delay the others.
func (x *Exchange) follow(ctx context.Context) {
	every := time.NewTicker(resyncPeriod)
	defer every.Stop()
	ready := make(chan struct{})
	close(ready)
	var (
		wait   backoff
		paused <-chan time.Time // nil unless a step failed
		resync = true           // whether to read the heads
	)
	for {
		var work <-chan struct{} // nil if there is nothing to read
		if paused == nil && (resync || x.anyWork()) {
			work = ready
		}
		select {
		case <-ctx.Done():
			return
		case n := <-x.news:
			x.afterDrop()
			x.receiveNews(n)
		case <-x.resync:
			resync = true
		case <-every.C:
			resync = true
		case <-paused:
			paused = nil
		case <-work:
			err := x.catchUp(ctx, resync)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				x.link.failed(partRead, err)
				paused = time.After(wait.next())
				continue
			}
			x.link.succeeded(partRead)
			wait.succeeded()
			resync = false
		}
	}
}

// catchUp reads the heads, if requested, and does one reading step for a site that is
// behind.
func (x *Exchange) catchUp(ctx context.Context, heads bool) error {
	if heads {
		if err := x.readHeads(ctx); err != nil {
			return err
		}
	}
	x.afterDrop()
	now := time.Now()
	for _, o := range x.origins {
		if step := x.work(o, now); step != nil {
			return step(x, ctx, o)
		}
	}
	return nil
}

// anyWork reports whether there is anything to read.
func (x *Exchange) anyWork() bool {
	now := time.Now()
	for _, o := range x.origins {
		if x.work(o, now) != nil {
			return true
		}
	}
	return false
}

// readHeads reads the stored heads of all sites. It retries everything found missing,
// because Redis may have been replaced.
func (x *Exchange) readHeads(ctx context.Context) error {
	heads, bad, err := x.wire.heads(ctx)
	if err != nil {
		return err
	}
	if bad > 0 {
		x.refuse(nil, causeNews, fmt.Errorf("%d invalid heads", bad))
	}
	tails := make(map[string]Position, len(heads))
	for _, h := range heads {
		if h.site != x.site {
			x.receiveHead(h)
			tails[h.site] = h.tail
		}
	}
	for site, o := range x.origins { // including sites crowded out of the hash
		x.reread(o, tails[site])
	}
	return nil
}

// receiveHead handles a stored heartbeat, which may be old.
func (x *Exchange) receiveHead(h head) {
	record, err := wire.DecodeHead(h.heartbeat)
	if err != nil {
		err = fmt.Errorf("head of %s: %w", h.site, err)
	} else if record.Site != h.site {
		err = fmt.Errorf("%w: head of %s belongs to %s", errOrigin, h.site, record.Site)
	}
	if err != nil {
		x.refuse(x.origins[h.site], causeOf(err), err)
		return
	}
	x.receiveHeartbeat(h.heartbeat, false)
}

// reread makes the follower read a site's stream and snapshot again if data is missing.
func (x *Exchange) reread(o *origin, tail Position) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if o.looked, o.votesLooked = o.took, o.votes; now.Before(o.rest) {
		return
	}
	// A stream that ends before our cursor was recreated. Entries that we skipped without
	// applying them must not hide new ones.
	if o.from().after(tail) {
		o.at, o.read = x.cursor(o.site), Position{}
	}
	if o.isBehind() {
		o.read = Position{}
	}
	if tail.after(o.from()) {
		o.claim = tail
	}
	o.isExhausted = false
	o.settle(now)
}

// receiveNews handles one news message.
func (x *Exchange) receiveNews(n news) {
	if n.head.Type == wire.RecordHeartbeat {
		x.receiveHeartbeat(n.record, true)
		return
	}
	o := x.origins[n.head.Site]
	if o == nil {
		return // its stream is read after its next heartbeat
	}
	// The stream decides about a delta refused here: anyone could have sent this message.
	at := Position{n.head.Epoch, n.head.Seq}
	applied := x.accepts(o) && at.Epoch == o.at.Epoch && n.head.Prev <= o.at.Seq && at.after(o.at) &&
		x.apply(o.site, entry{at: at, size: len(n.record), record: n.record}, peers.Next) == nil
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case applied:
		o.at, o.head, o.heard = at, later(o.head, at), now
	case at.after(o.from()) && at.after(o.claim):
		o.claim = at
	}
	o.settle(now)
}

// accepts reports whether deltas of a site are applied at all.
func (x *Exchange) accepts(o *origin) bool {
	return x.db.TrustOf(o.site) == wire.TrustFull && !o.isAhead() && !time.Now().Before(o.held) && !x.db.Muted(o.site)
}

// receiveHeartbeat handles a site's heartbeat. Live is true for one from the channel: only
// its arrival time shows whether a clock is behind.
func (x *Exchange) receiveHeartbeat(record []byte, live bool) {
	h, err := x.db.ReadHeartbeat(record)
	if err != nil {
		var o *origin
		if said, headErr := wire.DecodeHead(record); headErr == nil {
			o = x.origins[said.Site]
		}
		x.refuse(o, causeOf(err), err)
		return
	}
	o := x.origin(h.Site)
	if o == nil {
		return
	}
	now, skew := time.Now(), h.Made.Sub(x.db.Now())
	x.mu.Lock()
	fresh := o.takeHeartbeat(h, record, skew, live)
	if fresh && live {
		o.heard = now
	}
	if fresh && h.WantsUs && x.db.TrustOf(h.Site) != wire.TrustNone {
		x.wanted.Store(now.UnixNano())
	}
	o.settle(now)
	x.mu.Unlock()
	if !fresh {
		return // anyone can repeat it
	}
	if skew > maxSkew || live && skew < -maxSkew {
		x.refuse(o, causeClock, fmt.Errorf("%s: %w: made at %s, %s from now", h.Head, layout.ErrClock,
			h.Made.Format(time.RFC3339), skew.Round(time.Second)))
	}
}

// takeHeartbeat records a heartbeat. One older than the last is a repetition, unless the
// site's clock was set back. It returns false for a repetition.
func (o *origin) takeHeartbeat(h wire.Heartbeat, record []byte, skew time.Duration, live bool) (fresh bool) {
	if back := o.beat.Sub(h.Made); back > 0 && skew+back < time.Minute {
		return false
	}
	fresh = !h.Made.Equal(o.beat)
	o.beat = h.Made
	if live && fresh {
		o.wake()
	}
	if live && fresh || skew > maxSkew || o.isAhead() {
		o.skew = skew
	}
	o.place(Position{h.Epoch, h.Seq}, record, fresh)
	o.votesAnnounced, o.snapshot = h.Votes, Position{}
	if h.Snapshot > 0 {
		o.snapshot = Position{h.Epoch, h.Snapshot}
	} else {
		o.looked = o.took // the next snapshot may have the same position
	}
	return fresh
}
