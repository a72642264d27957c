package follower

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// readBatch consumes the next entries of a site's stream, up to a gap.
func (f *Follower) readBatch(ctx context.Context, o *origin) error {
	batch, err := f.streams.Read(ctx, o.site, o.from())
	if errors.Is(err, streams.ErrNotOurs) { // only this key, not Redis
		f.refuse(o, refusal.Stream, err)
		batch, err = nil, nil
	}
	if err != nil {
		return err
	}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(batch) == 0 {
			o.atEnd(time.Now())
		}
		o.extendPause(time.Now())
	}()
	begin := time.Now()
	for _, e := range batch {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.afterDrop() || o.isSpent(time.Now()) || !f.consume(o, e) || time.Since(begin) > effortTurn {
			break
		}
	}
	return nil
}

// consume applies an entry of the stream, or skips it if it is refused. An entry that the
// site has not written is not part of its stream and moves only the reading position.
// consume returns false if the streams.Entry must wait: for missing entries before it, or for a
// later time.
func (f *Follower) consume(o *origin, e streams.Entry) bool {
	now := time.Now()
	order := peers.Next
	err := f.apply(o, e, order)
	if errors.Is(err, wire.ErrGap) {
		missing := streams.At(e.At.Epoch, previous(e))
		switch {
		case !missing.After(o.at): // the missing entries were refused
			order = peers.Skipped
		case o.lost != missing:
			o.gap = missing
			return false
		default:
			order = peers.Lost
		}
		err = f.apply(o, e, order)
	}
	if isDeferrable(err) {
		f.hold(o, fmt.Errorf("delta %v: %w", e.At, err), now)
		return false
	}
	if err != nil {
		f.refuse(o, refusal.CauseOf(err), fmt.Errorf("delta %v: %w", e.At, err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if isForeign(err) {
		o.read = e.At
		o.foreign++
		return true
	}
	o.moveTo(e.At)
	if err == nil {
		o.head = streams.Later(o.head, e.At)
	}
	o.settle(now)
	if err == nil && order == peers.Lost {
		f.recordGap(o, e)
	}
	return true
}

// recordGap records a gap that no snapshot fills now. The caller holds mu.
func (f *Follower) recordGap(o *origin, e streams.Entry) {
	o.gaps++
	o.isLatestRefused = false // the latest snapshot does not reach this far
	f.metrics.gaps.WithLabelValues(o.site).Inc()
	if f.logLimit.Allow("gap " + o.site) {
		f.log.Warn("gap in the stream that no snapshot has filled so far",
			"site", o.site, "up to", o.lost.String(), "next", e.At.String())
	}
}

// isDeferrable reports whether an entry must not be skipped because it can be applied
// later.
func isDeferrable(err error) bool {
	return errors.Is(err, layout.ErrClock) || errors.Is(err, wire.ErrMuted)
}

// hold pauses a site for a while. Its snapshot may help meanwhile: it may have been made by
// a better clock than a delta.
func (f *Follower) hold(o *origin, err error, now time.Time) {
	f.refuse(o, refusal.CauseOf(err), err)
	f.mu.Lock()
	defer f.mu.Unlock()
	o.held, o.isExhausted = now.Add(holdPause), true
}

// apply passes an entry to the database if it belongs where it was found.
func (f *Follower) apply(o *origin, e streams.Entry, order peers.Order) error {
	err := checkEntry(o.site, e)
	if err == nil {
		err = o.checkFloor(e.At.Epoch)
	}
	if err != nil {
		return err
	}
	begin := time.Now()
	err = f.db.Apply(e.Record, order)
	if !isForeign(err) {
		f.spend(o, begin)
	}
	if err != nil {
		return err
	}
	f.metrics.applied.WithLabelValues(o.site).Inc()
	return nil
}

// isForeign reports whether an error means that the site did not write the data in its
// place.
func isForeign(err error) bool {
	for _, foreign := range []error{wire.ErrUnverified, streams.ErrOversize, refusal.ErrOrigin, refusal.ErrEntry, streams.ErrNotOurs} {
		if errors.Is(err, foreign) {
			return true
		}
	}
	return false
}

// checkEntry checks an entry against the place where it was found.
func checkEntry(site string, e streams.Entry) error {
	switch {
	case e.Size <= 0:
		return refusal.ErrEntry
	case e.Size > streams.MaxRecord:
		return fmt.Errorf("%w: %d bytes, limit %d", streams.ErrOversize, e.Size, streams.MaxRecord)
	}
	h, err := wire.DecodeHead(e.Record)
	if err != nil {
		return err
	}
	if at := streams.At(h.Epoch, h.Seq); h.Type != wire.RecordDelta || h.Site != site || at != e.At {
		return fmt.Errorf("%w: it is %s", refusal.ErrOrigin, h)
	}
	return nil
}

// previous returns the number up to which, according to the record, nothing may be missing.
func previous(e streams.Entry) uint64 {
	h, _ := wire.DecodeHead(e.Record) // already checked
	return h.Prev
}

// votesPause is the least time between two readings of a site's votes. Sites publish theirs once a
// minute; a heartbeat announces new ones in a few bytes, and each site reads half a MiB.
const votesPause = 5 * time.Second

func (o *origin) mayReadVotes(now time.Time) bool { return now.Sub(o.votesRead) >= votesPause }

// readVotes reads the votes of a site with the trust "vote".
func (f *Follower) readVotes(ctx context.Context, o *origin) error {
	announced := o.votesAnnounced
	record, err := f.streams.Votes(ctx, o.site)
	if err != nil && !errors.Is(err, streams.ErrNotOurs) {
		return err
	}
	var h wire.Head
	if err == nil && record != nil {
		if h, err = wire.DecodeHead(record); err == nil && h.Site != o.site {
			err = fmt.Errorf("%w: it is %s", refusal.ErrOrigin, h)
		}
		if err == nil {
			err = o.checkFloor(h.Epoch)
		}
		if err == nil {
			err = f.db.ApplyVotes(record)
		}
	}
	if err != nil {
		f.refuse(o, refusal.CauseOf(err), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	o.votesRead = time.Now()
	epoch := o.proven.Epoch   // the site's current epoch, unless it is stale
	o.votesLooked = announced // even if refused: until others are announced
	// Anyone can put back an older record. It counts as missing, so that the site is asked.
	o.isLatestRefused = errors.Is(err, layout.ErrParameters) && h.Epoch == epoch && h.Seq == announced
	if err == nil && record != nil && h.Epoch >= epoch {
		o.votes = h.Seq // may differ from the announced stamp
	}
	return nil
}
