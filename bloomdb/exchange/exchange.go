package exchange

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Options set intervals and limits. A zero value means the default.
type Options struct {
	// Interval is how often counts are published at rest, MaxInterval how often in a flood.
	// In between, the wait grows with the amount of data. Defaults 1 s and 60 s. Reports
	// and revocations do not wait for it.
	Interval    time.Duration
	MaxInterval time.Duration

	// Heartbeat is how often the head of the own stream is announced; default 2 s. A link
	// without any message for three times as long is considered dead.
	Heartbeat time.Duration

	// SnapshotLimit is how many bytes a snapshot may take in Redis, and twice as many while
	// it is written; default 512 MiB. Data beyond the limit is omitted, counts first.
	SnapshotLimit int64

	// StreamLength is about how many deltas Redis keeps of this site at most; default
	// 100,000. Usually there are fewer, because the deltas contained in the last two
	// snapshots are trimmed.
	StreamLength int64

	// SnapshotInterval is how often a snapshot is published even if few deltas were
	// published since the last one; default 24 h.
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

// Exchange connects one database to its federation. Status and Collectors are safe for
// concurrent use at any time.
type Exchange struct {
	db       *bloomdb.DB
	site     string // this site's name
	wire     transport
	o        Options
	log      *slog.Logger
	metrics  *metrics
	link     link
	logLimit limiter // limits repeated log lines

	publishedAt atomic.Int64 // when this site last published, Unix nanoseconds; 0: not since the last fault
	echoedAt    atomic.Int64 // when this site's own news last came back, Unix nanoseconds

	news   chan news     // subscriber to follower
	resync chan struct{} // subscriber to follower: news may be missing

	drops uint64 // value of the database's Drops that the follower has handled

	// newerOwn is a heartbeat of this site with a position newer than its folder. The
	// subscriber sets it for the publisher.
	newerOwn atomic.Pointer[wire.Head]
	// wanted is when another site last requested our snapshot and votes, Unix nanoseconds.
	// The follower sets it for the publisher.
	wanted atomic.Int64

	// mu guards the data of Status: origins and their fields, snapshot, moved, strangers.
	// Only the follower writes origins, under mu; it reads them without mu.
	mu        sync.Mutex
	origins   map[string]*origin
	snapshot  *Position       // position of our own in Redis
	moved     *Foreign        // nil: never moved aside
	strangers map[cause]int64 // refused records of unknown sites
}

// New returns an Exchange for a database opened with Options.Exchange. The caller closes
// the client after Run. keyID is keyring.ID of the federation's key; it separates
// federations that share a Redis.
func New(db *bloomdb.DB, c *Client, keyID string, o Options) *Exchange {
	return newExchange(db, newStreams(c, keyID), o)
}

func newExchange(db *bloomdb.DB, w transport, o Options) *Exchange {
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

// Run exchanges until ctx ends and then returns nil. Faults of Redis are retried, never
// returned: they appear in the log, in Status and in the metrics. On a link that swallows
// everything, Run may return late by up to the client's timeouts (5 s).
func (x *Exchange) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { x.publish(ctx) })
	wg.Go(func() { x.subscribe(ctx) })
	wg.Go(func() { x.follow(ctx) })
	wg.Wait()
	return nil
}
