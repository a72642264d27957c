package exchange

import (
	"context"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// resyncPeriod is how often all heads are read even if nothing seems missing.
const resyncPeriod = 30 * time.Second

// follow applies the other sites' deltas: from the news where nothing is missing
// before them, from the streams and snapshots otherwise. News and small batches of
// whoever is behind take turns, by the chance of select and map, so that a site
// with a long way to go does not hold up the others.
func (x *Exchange) follow(ctx context.Context) {
	every := time.NewTicker(resyncPeriod)
	defer every.Stop()
	ready := make(chan struct{})
	close(ready)
	var (
		wait   backoff
		paused <-chan time.Time // not nil after a failure
		resync = true           // the heads are to be read
	)
	for {
		var work <-chan struct{} // not nil where there is something to read
		if paused == nil && (resync || x.anyWork()) {
			work = ready
		}
		select {
		case <-ctx.Done():
			return
		case n := <-x.news:
			x.afterDrop()
			x.hear(n)
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
			x.link.works(partRead)
			wait.succeeded()
			resync = false
		}
	}
}

// catchUp reads the heads, where asked to, and does one step of reading a site that
// is behind.
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

// anyWork says whether a site has something to be read.
func (x *Exchange) anyWork() bool {
	now := time.Now()
	for _, o := range x.origins {
		if x.work(o, now) != nil {
			return true
		}
	}
	return false
}

// readHeads reads what is kept of all sites, and has everything looked at again
// that was found missing: Redis may be another one by now.
func (x *Exchange) readHeads(ctx context.Context) error {
	heads, bad, err := x.wire.heads(ctx)
	if err != nil {
		return err
	}
	if bad > 0 {
		x.refuse(nil, causeNews, fmt.Errorf("%d of the heads are none", bad))
	}
	tails := make(map[string]Position, len(heads))
	for _, h := range heads {
		if h.site != x.site {
			x.hearKept(h)
			tails[h.site] = h.tail
		}
	}
	for site, o := range x.origins { // also those that somebody has crowded out
		x.lookAgain(o, tails[site])
	}
	return nil
}

// hearKept takes a heartbeat that may have waited for long.
func (x *Exchange) hearKept(h head) {
	record, err := bloomdb.DecodeHead(h.heartbeat)
	if err != nil {
		err = fmt.Errorf("head of %s: %w", h.site, err)
	} else if record.Site != h.site {
		err = fmt.Errorf("%w: the head of %s is that of %s", errOrigin, h.site, record.Site)
	}
	if err != nil {
		x.refuse(x.origins[h.site], causeOf(err), err)
		return
	}
	x.hearHeartbeat(h.heartbeat, false)
}

// lookAgain has a site's stream and snapshot read anew where something is missing.
func (x *Exchange) lookAgain(o *origin, tail Position) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if o.looked, o.votesLooked = o.took, o.votes; now.Before(o.rest) {
		return
	}
	// A stream that ends before what was consumed was made anew. What we passed
	// over without applying it must not hide what comes now.
	if o.from().after(tail) {
		o.at, o.read = x.cursor(o.site), Position{}
	}
	if o.behind() {
		o.read = Position{}
	}
	if tail.after(o.from()) {
		o.claim = tail
	}
	o.dry = false
	o.settle(now)
}

// hear takes one piece of news.
func (x *Exchange) hear(n news) {
	if n.head.Type == bloomdb.RecordHeartbeat {
		x.hearHeartbeat(n.record, true)
		return
	}
	o := x.origins[n.head.Site]
	if o == nil {
		return // its heartbeat comes, and then its stream is read
	}
	// What is refused here is left to the stream: anybody may have said this.
	at := Position{n.head.Epoch, n.head.Seq}
	applied := x.listensTo(o) && at.Epoch == o.at.Epoch && n.head.Prev <= o.at.Seq && at.after(o.at) &&
		x.apply(o.site, entry{at: at, size: len(n.record), record: n.record}, bloomdb.Next) == nil
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

// listensTo says whether deltas of a site are applied at all.
func (x *Exchange) listensTo(o *origin) bool {
	return x.db.TrustOf(o.site) == bloomdb.TrustFull && !o.ahead() && !time.Now().Before(o.held) && !x.db.Muted(o.site)
}

// hearHeartbeat takes a site's word on where it stands. Live is what comes from the
// channel: only of that the time tells whether a clock is behind.
func (x *Exchange) hearHeartbeat(record []byte, live bool) {
	h, err := x.db.ReadHeartbeat(record)
	if err != nil {
		var o *origin
		if said, headErr := bloomdb.DecodeHead(record); headErr == nil {
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
	if fresh && h.WantsUs && x.db.TrustOf(h.Site) != bloomdb.TrustNone {
		x.wanted.Store(now.UnixNano())
	}
	o.settle(now)
	x.mu.Unlock()
	if !fresh {
		return // anybody can say it again
	}
	if skew > maxSkew || live && skew < -maxSkew {
		x.refuse(o, causeClock, fmt.Errorf("%s: %w: it was made at %s, %s from now", h.Head, bloomdb.ErrClock,
			h.Made.Format(time.RFC3339), skew.Round(time.Second)))
	}
}

// takeHeartbeat notes what a heartbeat says. One that is older than what was heard
// is a repetition, unless the site's clock was put back. It returns false for what was
// heard before.
func (o *origin) takeHeartbeat(h bloomdb.Heartbeat, record []byte, skew time.Duration, live bool) (fresh bool) {
	if back := o.beat.Sub(h.Made); back > 0 && skew+back < time.Minute {
		return false
	}
	fresh = !h.Made.Equal(o.beat)
	o.beat = h.Made
	if live && fresh {
		o.alive()
	}
	if live && fresh || skew > maxSkew || o.ahead() {
		o.skew = skew
	}
	o.place(Position{h.Epoch, h.Seq}, record, fresh)
	o.votesSaid, o.snapshot = h.Votes, Position{}
	if h.Snapshot > 0 {
		o.snapshot = Position{h.Epoch, h.Snapshot}
	} else {
		o.looked = o.took // it may come back at the same place
	}
	return fresh
}
