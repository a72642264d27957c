package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// readBatch consumes the next entries of a site's stream, up to a place before
// which something is missing.
func (x *Exchange) readBatch(ctx context.Context, o *origin) error {
	batch, err := x.wire.read(ctx, o.site, o.from())
	if errors.Is(err, errNotOurs) { // that key only, not Redis
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
		o.tire(time.Now())
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

// consume applies an entry of the stream, or passes it over where it is refused. One
// that the site has not written is no part of its stream: it moves nothing but the
// reading. consume returns false where the entry has to wait: for what is missing before it, or
// for better times.
func (x *Exchange) consume(o *origin, e entry) bool {
	now := time.Now()
	order := bloomdb.Next
	err := x.apply(o.site, e, order)
	if errors.Is(err, bloomdb.ErrGap) {
		missing := Position{e.at.Epoch, e.prev()}
		switch {
		case !missing.after(o.at): // they were refused
			order = bloomdb.Skipped
		case o.lost != missing:
			o.gap = missing
			return false
		default:
			order = bloomdb.Lost
		}
		err = x.apply(o.site, e, order)
	}
	if holds(err) {
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
	if err == nil && order == bloomdb.Lost {
		x.lose(o, e)
	}
	return true
}

// lose notes a gap that no snapshot fills now. mu is held.
func (x *Exchange) lose(o *origin, e entry) {
	o.gaps++
	x.metrics.gaps.WithLabelValues(o.site).Inc()
	if x.quiet.allow("gap " + o.site) {
		x.log.Warn("deltas are missing in the stream, and no snapshot has them so far",
			"site", o.site, "up to", o.lost.String(), "next", e.at.String())
	}
}

// holds says that an entry is not to be passed over: it can be applied later.
func holds(err error) bool {
	return errors.Is(err, bloomdb.ErrClock) || errors.Is(err, bloomdb.ErrMuted)
}

// hold leaves a site alone for a while. Its snapshot may help meanwhile: it may have
// been made by a better clock than a delta.
func (x *Exchange) hold(o *origin, err error, now time.Time) {
	x.refuse(o, causeOf(err), err)
	x.mu.Lock()
	defer x.mu.Unlock()
	o.held, o.dry = now.Add(holdPause), true
}

// apply gives an entry to the database, if it belongs where it was found.
func (x *Exchange) apply(site string, e entry, order bloomdb.Order) error {
	if err := checkEntry(site, e); err != nil {
		return err
	}
	if err := x.db.Apply(e.record, order); err != nil {
		return err
	}
	x.metrics.applied.WithLabelValues(site).Inc()
	return nil
}

// Errors of records that the database never gets to see.
var (
	errOversize = errors.New("the record is too large")
	errOrigin   = errors.New("the record is not what its place says")
	errEntry    = errors.New("the stream entry is not a delta")
)

// isForeign reports whether an error says that the site did not write what stands in
// its place.
func isForeign(err error) bool {
	for _, foreign := range []error{bloomdb.ErrUnverified, errOversize, errOrigin, errEntry, errNotOurs} {
		if errors.Is(err, foreign) {
			return true
		}
	}
	return false
}

// checkEntry holds an entry against the place where it was found.
func checkEntry(site string, e entry) error {
	switch {
	case e.size <= 0:
		return errEntry
	case e.size > maxRecord:
		return fmt.Errorf("%w: %d bytes, the limit is %d", errOversize, e.size, maxRecord)
	}
	h, err := bloomdb.DecodeHead(e.record)
	if err != nil {
		return err
	}
	if at := (Position{h.Epoch, h.Seq}); h.Type != bloomdb.RecordDelta || h.Site != site || at != e.at {
		return fmt.Errorf("%w: it is %s", errOrigin, h)
	}
	return nil
}

// prev is the number before which, as the record says, nothing may be missing.
func (e entry) prev() uint64 {
	h, _ := bloomdb.DecodeHead(e.record) // it was checked
	return h.Prev
}

// readVotes fetches the votes of a site that is heard through them.
func (x *Exchange) readVotes(ctx context.Context, o *origin) error {
	said := o.votesSaid
	record, err := x.wire.votes(ctx, o.site)
	if err != nil && !errors.Is(err, errNotOurs) {
		return err
	}
	var h bloomdb.Head
	if err == nil && record != nil {
		if h, err = bloomdb.DecodeHead(record); err == nil && h.Site != o.site {
			err = fmt.Errorf("%w: it is %s", errOrigin, h)
		}
		if err == nil {
			err = x.db.HearVotes(record)
		}
	}
	if err != nil {
		x.refuse(o, causeOf(err), err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	epoch := o.proven.Epoch // in which the site speaks, unless it is stale
	o.votesLooked = said    // also where it was refused: until there are others
	// Anybody can put back an older record. It counts as not there, so that the site is asked.
	o.refuses = errors.Is(err, bloomdb.ErrParameters) && h.Epoch == epoch && h.Seq == said
	if err == nil && record != nil && h.Epoch >= epoch {
		o.votes = h.Seq // which may be another one than was said
	}
	return nil
}
