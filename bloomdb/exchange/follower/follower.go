package follower

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// resyncPeriod is how often all heads are read even if nothing seems missing.
const resyncPeriod = 30 * time.Second

// Follower applies the deltas of all other sites. Run is called once. The other exported
// methods are safe for concurrent use at any time.
type Follower struct {
	db       *bloomdb.DB
	site     string // this site's name
	streams  streams.Transport
	link     *link.Link
	refused  *refusal.Counts
	log      *slog.Logger
	metrics  *metrics
	logLimit link.Limiter // limits repeated log lines

	news   chan News
	resync chan struct{} // news may be missing

	drops  uint64                    // value of the database's Drops that was handled
	wanted atomic.Pointer[time.Time] // when another site last requested our snapshot and votes; nil: never

	// mu guards origins and their fields. Only Run writes them, under mu; it reads them
	// without mu.
	mu      sync.Mutex
	origins map[string]*origin
}

// New returns a follower for a database opened with Options.Exchange.
func New(db *bloomdb.DB, t streams.Transport, l *link.Link, refused *refusal.Counts, log *slog.Logger) *Follower {
	return &Follower{
		db: db, site: db.Site(), streams: t, link: l, refused: refused, log: log,
		metrics: newMetrics(),
		news:    make(chan News, queuedNews),
		resync:  make(chan struct{}, 1),
		origins: make(map[string]*origin),
		drops:   db.Drops(),
	}
}

// Run applies the other sites' deltas: from the news if there is no gap before them,
// otherwise from the streams and snapshots. News and small batches of sites that are behind
// take turns, by the random order of select and by next, so that a site far behind does not
// delay the others. It returns when ctx ends. Faults of Redis are retried.
func (f *Follower) Run(ctx context.Context) {
	every := time.NewTicker(resyncPeriod)
	defer every.Stop()
	ready := make(chan struct{})
	close(ready)
	var (
		wait   link.Backoff
		paused <-chan time.Time // nil unless a step failed
		resync = true           // whether to read the heads
	)
	for {
		var work <-chan struct{} // nil if there is nothing to read
		if paused == nil && (resync || f.anyWork()) {
			work = ready
		}
		select {
		case <-ctx.Done():
			return
		case n := <-f.news:
			f.afterDrop()
			f.receiveNews(n)
		case <-f.resync:
			resync = true
		case <-every.C:
			resync = true
		case <-paused:
			paused = nil
		case <-work:
			err := f.catchUp(ctx, resync)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				f.link.Failed(link.Read, err)
				paused = time.After(wait.Next())
				continue
			}
			f.link.Succeeded(link.Read)
			wait.Succeeded()
			resync = false
		}
	}
}

// catchUp reads the heads, if requested, and does one reading step for a site that is
// behind.
func (f *Follower) catchUp(ctx context.Context, heads bool) error {
	if heads {
		if err := f.readHeads(ctx); err != nil {
			return err
		}
	}
	f.afterDrop()
	begin := time.Now()
	o, step := f.next(begin)
	if step == nil {
		return nil
	}
	err := step(f, ctx, o)
	now := time.Now()
	took := now.Sub(begin)
	if err != nil { // a fault of Redis is not the site's, which waits for its next turn nevertheless
		took = 0
	}
	f.hadTurn(o, now, took)
	return err
}

// next returns the site with work that has waited longest, as a multiple of the time that its turns
// take, and its next step, or nil. Otherwise a holder of the federation key, who always has work under
// many names, would delay the few records of another site by a turn of each name.
func (f *Follower) next(now time.Time) (site *origin, step task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	longest := -1.0
	for _, o := range f.origins {
		s := f.work(o, now)
		if s == nil || o.queued.IsZero() {
			o.queued = now
		}
		if patience := float64(now.Sub(o.queued)) / float64(o.turnTime()); s != nil && patience > longest {
			site, step, longest = o, s, patience
		}
	}
	return site, step
}

// anyWork reports whether there is anything to read.
func (f *Follower) anyWork() bool {
	now := time.Now()
	for _, o := range f.origins {
		if f.work(o, now) != nil {
			return true
		}
	}
	return false
}

// readHeads reads the stored heads of all sites. It retries everything found missing,
// because Redis may have been replaced.
func (f *Follower) readHeads(ctx context.Context) error {
	heads, bad, err := f.streams.Heads(ctx)
	if err != nil {
		return err
	}
	if bad > 0 {
		f.refuse(nil, refusal.News, fmt.Errorf("%d invalid heads", bad))
	}
	tails := make(map[string]streams.Position, len(heads))
	for _, h := range heads {
		if h.Site != f.site {
			f.receiveHead(h)
			tails[h.Site] = h.Tail
		}
	}
	for site, o := range f.origins { // including sites crowded out of the hash
		if _, ok := tails[site]; !ok && len(heads)+bad < streams.MaxSites && f.hasGone(o, time.Now()) {
			f.forget(site)
			continue
		}
		f.reread(o, tails[site])
	}
	return nil
}

// reread makes the follower read a site's stream and snapshot again if data is missing.
func (f *Follower) reread(o *origin, tail streams.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	o.looked = o.took
	if o.mayReadVotes(now) { // until then they were looked at: if they are missing, the site is asked
		o.votesLooked = o.votes
	}
	if now.Before(o.rest) {
		return
	}
	// A reading goes on to the stream's end, and begins again there, whatever anyone has written as the
	// tail. If it began again here, it would never end in a stream that takes longer than resyncPeriod.
	isReading := o.hasUnread()
	// A stream that ends before our cursor was recreated. Entries that we skipped without
	// applying them must not hide new ones.
	isRecreated := o.from().After(tail)
	if isRecreated {
		o.at = f.cursor(o.site)
	}
	if !isReading && (isRecreated || o.isBehind()) {
		o.read = streams.Position{}
	}
	if tail.After(o.from()) {
		o.claim = tail
	}
	o.isExhausted = o.isExhausted && now.Before(o.held) // else each hold would begin anew before a snapshot is requested
	o.settle(now)
}
