package exchange

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// Options say how often and how much. Zero values mean the defaults.
type Options struct {
	// Interval is how often counts are published at rest, and MaxInterval how often
	// in a flood: between the two, the more there was to say the longer is the
	// wait. Defaults 1 s and 60 s. Reports and revocations do not wait for it.
	Interval    time.Duration
	MaxInterval time.Duration

	// Heartbeat is how often the head of the own stream is announced; default
	// 2 s. A link that says nothing for three times as long is taken for dead.
	Heartbeat time.Duration

	// SnapshotLimit is how many bytes a snapshot may take in Redis, and while it is
	// written twice as many; default 512 MiB. What has no place in it is left out,
	// counts first.
	SnapshotLimit int64

	// StreamLength is about how many deltas Redis keeps of this site at most;
	// default 100,000. Most of the time it is fewer: what stands in the last two
	// snapshots is trimmed away.
	StreamLength int64

	// SnapshotInterval is how often a snapshot is published although few deltas
	// came since the last one; default 24 h.
	SnapshotInterval time.Duration

	Log *slog.Logger // nil: discard
}

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.MaxInterval <= 0 {
		o.MaxInterval = time.Minute
	}
	o.MaxInterval = max(o.MaxInterval, o.Interval)
	if o.SnapshotLimit <= 0 {
		o.SnapshotLimit = 512 << 20
	}
	if o.SnapshotInterval <= 0 {
		o.SnapshotInterval = 24 * time.Hour
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 2 * time.Second
	}
	if o.StreamLength <= 0 {
		o.StreamLength = 100_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Exchange joins one database to its federation. Status and Collectors may be
// used at any time by any goroutine.
type Exchange struct {
	db      *bloomdb.DB
	site    string // our own name
	wire    wire
	o       Options
	log     *slog.Logger
	metrics *metrics
	link    link
	quiet   limiter // keeps repeated refusals out of the log

	spoke atomic.Int64 // when we last published, Unix nanoseconds; 0: not since the last fault
	heard atomic.Int64 // when our own news last came back

	news   chan news     // subscriber to follower
	resync chan struct{} // subscriber to follower: news may be missing

	drops uint64 // by the database, that the follower knows of

	// past is a heartbeat of ours by which this site has said more than its folder knows
	// of: subscriber to publisher.
	past atomic.Pointer[bloomdb.Head]
	// wanted is when another site last asked for our snapshot and votes, Unix
	// nanoseconds: follower to publisher.
	wanted atomic.Int64

	// mu guards what Status tells: origins and what they hold, snapshot, moved, strangers.
	// Of origins only the follower writes, under mu; it reads them without.
	mu        sync.Mutex
	origins   map[string]*origin
	snapshot  *Position       // of our own in Redis
	moved     *Foreign        // nil: nothing was
	strangers map[cause]int64 // refused, of no site that is known
}

// New makes an Exchange of a database that was opened with Options.Exchange. The
// client remains the caller's to close, after Run. keyID is keyring.ID of the
// federation's key: federations that share a Redis do not meet.
func New(db *bloomdb.DB, c *Client, keyID string, o Options) *Exchange {
	return newExchange(db, newStreams(c, keyID), o)
}

func newExchange(db *bloomdb.DB, w wire, o Options) *Exchange {
	o = o.withDefaults()
	return &Exchange{
		db:        db,
		site:      db.Status().Site,
		wire:      w,
		o:         o,
		log:       o.Log,
		metrics:   newMetrics(),
		link:      link{log: o.Log},
		news:      make(chan news, queuedNews),
		resync:    make(chan struct{}, 1),
		origins:   make(map[string]*origin),
		strangers: make(map[cause]int64),
		drops:     db.Drops(),
	}
}

// Run exchanges until ctx ends and then returns nil. Faults of Redis are met with
// patience, never with an error: they are in the log, in Status and in the
// metrics. On a link that swallows everything it may return up to the client's
// timeouts (5 s) late.
func (x *Exchange) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { x.publish(ctx) })
	wg.Go(func() { x.subscribe(ctx) })
	wg.Go(func() { x.follow(ctx) })
	wg.Wait()
	return nil
}
