package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// readBatch consumes the next entries of a site's stream, up to a gap.
func (x *Exchange) readBatch(ctx context.Context, o *origin) error {
	batch, err := x.wire.read(ctx, o.site, o.from())
	if errors.Is(err, errNotOurs) { // only this key, not Redis
		x.refuse(o, causeStream, err)
		batch, err = nil, nil
	}
	if err != nil {
		return err
	}
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if len(batch) == 0 {
			o.atEnd(time.Now())
		}
		o.extendPause(time.Now())
	}()
	for _, e := range batch {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if x.afterDrop() || !x.consume(o, e) {
			break
		}
	}
	return nil
}

// consume applies an entry of the stream, or skips it if it is refused. An entry that the
// site has not written is not part of its stream and moves only the reading position.
// consume returns false if the entry must wait: for missing entries before it, or for a
// later time.
func (x *Exchange) consume(o *origin, e entry) bool {
	now := time.Now()
	order := peers.Next
	err := x.apply(o.site, e, order)
	if errors.Is(err, wire.ErrGap) {
		missing := Position{e.at.Epoch, e.prev()}
		switch {
		case !missing.after(o.at): // the missing entries were refused
			order = peers.Skipped
		case o.lost != missing:
			o.gap = missing
			return false
		default:
			order = peers.Lost
		}
		err = x.apply(o.site, e, order)
	}
	if isDeferrable(err) {
		x.hold(o, fmt.Errorf("delta %v: %w", e.at, err), now)
		return false
	}
	if err != nil {
		x.refuse(o, causeOf(err), fmt.Errorf("delta %v: %w", e.at, err))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if isForeign(err) {
		o.read = e.at
		return true
	}
	o.moveTo(e.at)
	if err == nil {
		o.head = later(o.head, e.at)
	}
	o.settle(now)
	if err == nil && order == peers.Lost {
		x.recordGap(o, e)
	}
	return true
}

// recordGap records a gap that no snapshot fills now. The caller holds mu.
func (x *Exchange) recordGap(o *origin, e entry) {
	o.gaps++
	x.metrics.gaps.WithLabelValues(o.site).Inc()
	if x.logLimit.allow("gap " + o.site) {
		x.log.Warn("gap in the stream that no snapshot has filled so far",
			"site", o.site, "up to", o.lost.String(), "next", e.at.String())
	}
}

// isDeferrable reports whether an entry must not be skipped because it can be applied
// later.
func isDeferrable(err error) bool {
	return errors.Is(err, layout.ErrClock) || errors.Is(err, wire.ErrMuted)
}

// hold pauses a site for a while. Its snapshot may help meanwhile: it may have been made by
// a better clock than a delta.
func (x *Exchange) hold(o *origin, err error, now time.Time) {
	x.refuse(o, causeOf(err), err)
	x.mu.Lock()
	defer x.mu.Unlock()
	o.held, o.isExhausted = now.Add(holdPause), true
}

// apply passes an entry to the database if it belongs where it was found.
func (x *Exchange) apply(site string, e entry, order peers.Order) error {
	if err := checkEntry(site, e); err != nil {
		return err
	}
	if err := x.db.Apply(e.record, order); err != nil {
		return err
	}
	x.metrics.applied.WithLabelValues(site).Inc()
	return nil
}

// Errors of records that are not passed to the database.
var (
	errOversize = errors.New("record is too large")
	errOrigin   = errors.New("record does not belong here")
	errEntry    = errors.New("stream entry is not a delta")
)

// isForeign reports whether an error means that the site did not write the data in its
// place.
func isForeign(err error) bool {
	for _, foreign := range []error{wire.ErrUnverified, errOversize, errOrigin, errEntry, errNotOurs} {
		if errors.Is(err, foreign) {
			return true
		}
	}
	return false
}

// checkEntry checks an entry against the place where it was found.
func checkEntry(site string, e entry) error {
	switch {
	case e.size <= 0:
		return errEntry
	case e.size > maxRecord:
		return fmt.Errorf("%w: %d bytes, limit %d", errOversize, e.size, maxRecord)
	}
	h, err := wire.DecodeHead(e.record)
	if err != nil {
		return err
	}
	if at := (Position{h.Epoch, h.Seq}); h.Type != wire.RecordDelta || h.Site != site || at != e.at {
		return fmt.Errorf("%w: it is %s", errOrigin, h)
	}
	return nil
}

// prev returns the number up to which, according to the record, nothing may be missing.
func (e entry) prev() uint64 {
	h, _ := wire.DecodeHead(e.record) // already checked
	return h.Prev
}

// readVotes reads the votes of a site with the trust "vote".
func (x *Exchange) readVotes(ctx context.Context, o *origin) error {
	said := o.votesAnnounced
	record, err := x.wire.votes(ctx, o.site)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	var h wire.Head
	if err == nil && record != nil {
		if h, err = wire.DecodeHead(record); err == nil && h.Site != o.site {
			err = fmt.Errorf("%w: it is %s", errOrigin, h)
		}
		if err == nil {
			err = x.db.ApplyVotes(record)
		}
	}
	if err != nil {
		x.refuse(o, causeOf(err), err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	epoch := o.proven.Epoch // the site's current epoch, unless it is stale
	o.votesLooked = said    // even if refused: until others are announced
	// Anyone can put back an older record. It counts as missing, so that the site is asked.
	o.isLatestRefused = errors.Is(err, layout.ErrParameters) && h.Epoch == epoch && h.Seq == said
	if err == nil && record != nil && h.Epoch >= epoch {
		o.votes = h.Seq // may differ from the announced stamp
	}
	return nil
}
