package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

const (
	// maxSites bounds what is remembered of names that come from outside.
	maxSites = 1024
	// resyncPeriod is how often all heads are read even if nothing seems missing.
	resyncPeriod = 30 * time.Second
)

// origin is what the follower knows of one other site.
type origin struct {
	site    string
	at      Position  // the last delta consumed: applied, or refused and passed over
	head    Position  // the newest one known
	heard   time.Time // when its news last came
	gaps    int64
	refused map[cause]int64
}

// follow applies the other sites' deltas: from the news where they are next in
// sequence, from the streams otherwise. News and small batches of whoever is
// behind take turns, by the chance of select and map, so that a site with a long
// way to go does not hold up the others.
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
		if paused == nil && (resync || x.laggard() != nil) {
			work = ready
		}
		select {
		case <-ctx.Done():
			return
		case n := <-x.news:
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

// hear takes one piece of news.
func (x *Exchange) hear(n news) {
	o := x.origin(n.site)
	if o == nil {
		return
	}
	// What is refused here is left to the stream: anybody may have said this.
	applied := n.record != nil && n.head.follows(o.at) &&
		x.apply(o.site, entry{at: n.head, size: len(n.record), record: n.record}, bloomdb.Next) == nil
	x.mu.Lock()
	defer x.mu.Unlock()
	o.heard = time.Now()
	if n.head.after(o.head) {
		o.head = n.head
	}
	if applied {
		o.at = n.head
	}
}

// catchUp reads the heads, where asked to, and one batch of a site that is behind.
func (x *Exchange) catchUp(ctx context.Context, heads bool) error {
	if heads {
		if err := x.readHeads(ctx); err != nil {
			return err
		}
	}
	if o := x.laggard(); o != nil {
		return x.readBatch(ctx, o)
	}
	return nil
}

func (x *Exchange) readHeads(ctx context.Context) error {
	heads, bad, err := x.streams.readHeads(ctx)
	if err != nil {
		return err
	}
	if bad > 0 {
		x.refuse("", causeNews, fmt.Errorf("%s: %d entries are not SITE EPOCH-SEQ", x.streams.heads(), bad))
	}
	for site, head := range heads {
		o := x.origin(site)
		if o == nil {
			continue
		}
		x.mu.Lock()
		// A stream that ends before what was consumed was made anew. What we passed
		// over without applying it must not hide what comes now.
		if o.at.after(head) {
			o.at = x.cursor(site)
		}
		o.head = head
		x.mu.Unlock()
	}
	return nil
}

// readBatch consumes the next entries of a site's stream.
func (x *Exchange) readBatch(ctx context.Context, o *origin) error {
	batch, whole, err := x.streams.read(ctx, o.site, o.at)
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") { // that key only, not Redis
		x.refuseFrom(o, causeStream, err)
		batch, err = nil, nil
	}
	if err != nil {
		return err
	}
	for _, e := range batch {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.consume(o, e, whole)
		whole = true // the entries of a batch are neighbours
	}
	if len(batch) == 0 { // the stream's end, whatever the news said
		x.mu.Lock()
		o.head = o.at
		x.mu.Unlock()
	}
	return nil
}

// consume applies an entry of the stream, or passes it over where it is refused.
// Where it is a neighbour of the last one consumed, numbers between them are
// those of no delta, or of refused ones; else deltas were trimmed away, for good,
// since ids only grow.
func (x *Exchange) consume(o *origin, e entry, neighbour bool) {
	err := x.apply(o.site, e, bloomdb.Next)
	missing := errors.Is(err, bloomdb.ErrGap)
	gap := missing && !neighbour
	switch {
	case gap:
		x.metrics.gaps.WithLabelValues(o.site).Inc()
		if x.quiet.allow("gap " + o.site) {
			x.log.Warn("deltas are missing in the stream", "from", o.site, "after", o.at.String(), "next", e.at.String())
		}
		err = x.apply(o.site, e, bloomdb.Lost)
	case missing:
		err = x.apply(o.site, e, bloomdb.Skipped)
	}
	if err != nil {
		x.refuseFrom(o, causeOf(err), fmt.Errorf("delta %v: %w", e.at, err))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	o.at = e.at
	if gap {
		o.gaps++
	}
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

// Errors of entries that the database never gets to see.
var (
	errOversize = errors.New("the record is too large")
	errOrigin   = errors.New("the record is not what its place says")
	errEntry    = errors.New("the stream entry is not a delta")
)

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

// origin finds or makes what is known of a site; nil for ourselves and for names
// beyond maxSites.
func (x *Exchange) origin(site string) *origin {
	o := x.origins[site]
	switch {
	case o != nil || site == x.site:
		return o
	case len(x.origins) >= maxSites:
		if x.quiet.allow("sites") {
			x.log.Warn("too many sites, more are not heard", "limit", maxSites, "site", site)
		}
		return nil
	}
	at := x.cursor(site)
	o = &origin{site: site, at: at, head: at, refused: make(map[cause]int64)}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.origins[site] = o
	return o
}

func (x *Exchange) cursor(site string) Position {
	epoch, seq := x.db.Cursor(site)
	return Position{epoch, seq}
}

// laggard is one of the sites whose streams are to be read, if any.
func (x *Exchange) laggard() *origin {
	for _, o := range x.origins {
		if o.head.after(o.at) {
			return o
		}
	}
	return nil
}
