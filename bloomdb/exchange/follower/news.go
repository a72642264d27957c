package follower

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// queuedNews is the maximum number of news waiting for Run (4 MiB).
const queuedNews = 64

// News is one message of the channel: a delta or a heartbeat. Its head is unproven.
type News struct {
	Head   wire.Head
	Record []byte
}

// Receive queues news, without waiting. If the queue is full, Run reads the streams instead.
func (f *Follower) Receive(n News) {
	select {
	case f.news <- n:
	default:
		f.Resync()
	}
}

// Resync notifies Run that news may be missing.
func (f *Follower) Resync() {
	select {
	case f.resync <- struct{}{}:
	default: // already requested
	}
}

// receiveNews handles one news message.
func (f *Follower) receiveNews(n News) {
	if n.Head.Type == wire.RecordHeartbeat {
		f.receiveHeartbeat(n.Record, true)
		return
	}
	o := f.origins[n.Head.Site]
	if o == nil {
		return // its stream is read after its next heartbeat
	}
	// The stream decides about a delta refused here: anyone could have sent this message.
	at := streams.At(n.Head.Epoch, n.Head.Seq)
	applied := f.accepts(o) && at.Epoch == o.at.Epoch && n.Head.Prev <= o.at.Seq && at.After(o.at) &&
		f.apply(o, streams.Entry{At: at, Size: len(n.Record), Record: n.Record}, peers.Next) == nil
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case applied:
		o.at, o.head, o.heard = at, streams.Later(o.head, at), now
	case at.After(o.from()) && at.After(o.claim):
		o.claim = at
	}
	o.settle(now)
}

// accepts reports whether deltas of a site are applied at all.
func (f *Follower) accepts(o *origin) bool {
	now := time.Now()
	return f.db.TrustOf(o.site) == wire.TrustFull && !o.isDropped && !o.isAhead() && !now.Before(o.held) && !o.isSpent(now) && !f.db.Muted(o.site)
}

// receiveHeartbeat handles a site's heartbeat. Live is true for one from the channel: only
// its arrival time shows whether a clock is behind.
func (f *Follower) receiveHeartbeat(record []byte, live bool) {
	h, err := f.db.ReadHeartbeat(record)
	if err != nil {
		var o *origin
		if head, headErr := wire.DecodeHead(record); headErr == nil {
			o = f.origins[head.Site]
		}
		f.refuse(o, refusal.CauseOf(err), err)
		return
	}
	o := f.origin(h.Site)
	if o == nil {
		return
	}
	now, skew := time.Now(), h.Made.Sub(f.db.Now())
	f.mu.Lock()
	fresh := o.takeHeartbeat(h, record, skew, live)
	if fresh && live {
		o.heard = now
	}
	if fresh && h.WantsUs && f.db.TrustOf(h.Site) != wire.TrustNone {
		f.wanted.Store(&now)
	}
	o.settle(now)
	f.mu.Unlock()
	if !fresh {
		return // anyone can repeat it
	}
	if skew > maxSkew || live && skew < -maxSkew {
		f.refuse(o, refusal.Clock, skewError(h.Head, skew))
	}
}

// takeHeartbeat records a heartbeat. One older than the last is a repetition, unless the
// site's clock was set back. It returns false for a repetition.
func (o *origin) takeHeartbeat(h wire.Heartbeat, record []byte, skew time.Duration, live bool) (fresh bool) {
	// Neither difference exceeds 292 years, and their sum would.
	if back := o.beat.Sub(h.Made); back > 0 && !o.isSetBack(h, back, skew) {
		return false
	}
	fresh = !h.Made.Equal(o.beat)
	o.beat = h.Made
	if skew <= maxSkew && !h.Made.Before(o.latest) {
		o.latest = h.Made
		o.takeFloor(h.Epoch, fresh)
	}
	if live && fresh {
		o.wake()
	}
	if live && fresh || skew > maxSkew || o.isAhead() {
		o.skew = skew
	}
	o.place(streams.At(h.Epoch, h.Seq), record, fresh, live)
	o.votesAnnounced, o.snapshot = h.Votes, streams.Position{}
	if h.Snapshot > 0 {
		o.snapshot = streams.At(h.Epoch, h.Snapshot)
	} else {
		o.looked = o.took // the next snapshot may have the same position
	}
	return fresh
}

// isSetBack reports whether a heartbeat older than the last is one by a clock that was set back: the last
// one is from our future. While that is less than maxSkew ahead, each heartbeat of the site is. Then this one
// must be from now and not from an earlier position, or anyone could repeat it.
func (o *origin) isSetBack(h wire.Heartbeat, back, skew time.Duration) bool {
	return skew >= time.Minute-back &&
		(o.isAhead() || skew >= -time.Minute && !o.isDropped && !o.proven.After(streams.At(h.Epoch, h.Seq)))
}

// skewError is the error for a record of a site whose clock is wrong.
func skewError(h wire.Head, skew time.Duration) error {
	direction := "in the future"
	if skew < 0 {
		direction = "in the past"
	}
	return fmt.Errorf("%s: %w: it was made at %s, %s %s", h, layout.ErrClock,
		h.Made.Format(time.RFC3339), skew.Abs().Round(time.Second), direction)
}

// receiveHead handles a stored heartbeat, which may be old.
func (f *Follower) receiveHead(h streams.Head) {
	record, err := wire.DecodeHead(h.Heartbeat)
	if err != nil {
		err = fmt.Errorf("head of %s: %w", h.Site, err)
	} else if record.Site != h.Site {
		err = fmt.Errorf("%w: head of %s belongs to %s", refusal.ErrOrigin, h.Site, record.Site)
	}
	if err != nil {
		f.refuse(f.origins[h.Site], refusal.CauseOf(err), err)
		return
	}
	f.receiveHeartbeat(h.Heartbeat, false)
}
