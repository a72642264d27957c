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

// behind says whether the site's stream is to be read.
func (o *origin) behind() bool { return o.head.after(o.at) }

// follow applies the other sites' deltas: from the news where they are next in
// sequence, from the streams otherwise. It takes one batch of each site that is
// behind, then the news that came meanwhile, so that a site with a long way to
// go does not hold up the others.
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
		if paused == nil && (resync || len(x.laggards()) > 0) {
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
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.origin(n.site)
	if o == nil {
		return
	}
	o.heard = time.Now()
	if n.head.after(o.head) {
		o.head = n.head
	}
	if n.record != nil && n.head.follows(o.at) {
		e := entry{at: n.head, size: len(n.record), record: n.record}
		if x.apply(o.site, e, false) == nil {
			o.at = e.at
		} // else the stream will tell: anybody may have said this
	}
}

// catchUp reads the heads, where asked to, and one batch of every site that is
// behind.
func (x *Exchange) catchUp(ctx context.Context, heads bool) error {
	if heads {
		if err := x.readHeads(ctx); err != nil {
			return err
		}
	}
	for _, site := range x.laggards() {
		if err := x.readBatch(ctx, site); err != nil {
			return err
		}
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
	x.mu.Lock()
	defer x.mu.Unlock()
	for site, head := range heads {
		o := x.origin(site)
		if o == nil {
			continue
		}
		// A stream that ends before what was consumed was made anew. What we passed
		// over without applying it must not hide what comes now.
		if o.at.after(head) {
			o.at = x.cursor(site)
		}
		o.head = head
	}
	return nil
}

// readBatch consumes the next entries of a site's stream.
func (x *Exchange) readBatch(ctx context.Context, site string) error {
	x.mu.Lock()
	at := x.origins[site].at
	x.mu.Unlock()
	batch, err := x.streams.read(ctx, site, at)
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.origins[site]
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") { // that key only, not Redis
		x.refuseLocked(o, causeStream, err)
		err, batch = nil, nil
	}
	if err != nil {
		return err
	}
	if len(batch) == 0 { // the stream's end, whatever the news said
		o.head = o.at
	}
	for _, e := range batch {
		x.consume(o, e)
	}
	return nil
}

// consume applies an entry of the stream, or passes it over where it is refused.
// A gap before it is final: ids only grow, so what is missing was trimmed, or was
// refused.
func (x *Exchange) consume(o *origin, e entry) {
	err := x.apply(o.site, e, false)
	if errors.Is(err, bloomdb.ErrGap) {
		o.gaps++
		x.metrics.gaps.WithLabelValues(o.site).Inc()
		if x.quiet.allow("gap " + o.site) {
			x.log.Warn("deltas are missing in the stream", "from", o.site, "after", o.at.String(), "next", e.at.String())
		}
		err = x.apply(o.site, e, true)
	}
	if err != nil {
		x.refuseLocked(o, causeOf(err), fmt.Errorf("delta %v: %w", e.at, err))
	}
	o.at = e.at
}

// apply gives an entry to the database, if it belongs where it was found.
func (x *Exchange) apply(site string, e entry, gapOK bool) error {
	if err := checkEntry(site, e); err != nil {
		return err
	}
	if err := x.db.Apply(e.record, gapOK); err != nil {
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
	case e.size < 0 || e.size == 0:
		return errEntry
	case e.size > maxRecord:
		return fmt.Errorf("%w: %d bytes, the limit is %d", errOversize, e.size, maxRecord)
	}
	from, epoch, seq, err := bloomdb.DecodeOrigin(e.record)
	if err != nil {
		return err
	}
	if at := (Position{epoch, seq}); from != site || at != e.at {
		return fmt.Errorf("%w: it is %v of %q", errOrigin, at, from)
	}
	return nil
}

// origin finds or makes what is known of a site; nil for ourselves and for names
// beyond maxSites. x.mu is held.
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
	x.origins[site] = o
	return o
}

func (x *Exchange) cursor(site string) Position {
	epoch, seq := x.db.Cursor(site)
	return Position{epoch, seq}
}

// laggards are the sites whose streams are to be read.
func (x *Exchange) laggards() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var sites []string
	for site, o := range x.origins {
		if o.behind() {
			sites = append(sites, site)
		}
	}
	return sites
}
