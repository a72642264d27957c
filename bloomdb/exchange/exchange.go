package exchange

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

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
	streams *streams
	o       Options
	log     *slog.Logger
	metrics *metrics
	link    link
	quiet   limiter // keeps repeated refusals out of the log

	spoke atomic.Int64 // when we last published, Unix nanoseconds; 0: not since the last fault
	heard atomic.Int64 // when our own news last came back

	news   chan news     // subscriber to follower
	resync chan struct{} // subscriber to follower: news may be missing

	// mu guards origins and what they hold. Only the follower writes them, under
	// mu; it reads them without.
	mu      sync.Mutex
	origins map[string]*origin
}

// New makes an Exchange of a database that was opened with Options.Exchange. The
// client remains the caller's to close, after Run. keyID is bloomdb.KeyID of the
// federation's key: federations that share a Redis do not meet.
func New(db *bloomdb.DB, c redis.UniversalClient, keyID string, o Options) *Exchange {
	o = o.withDefaults()
	return &Exchange{
		db:      db,
		site:    db.Status().Site,
		streams: newStreams(c, keyID),
		o:       o,
		log:     o.Log,
		metrics: newMetrics(),
		link:    link{log: o.Log},
		news:    make(chan news, queuedNews),
		resync:  make(chan struct{}, 1),
		origins: make(map[string]*origin),
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

// Collectors returns the exchange's metrics for a registry.
func (x *Exchange) Collectors() []prometheus.Collector {
	return append(x.metrics.collectors(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spambloom_exchange_connected",
		Help: "1 while news are heard and the last command to Redis succeeded.",
	}, func() float64 {
		if x.link.connected() {
			return 1
		}
		return 0
	}), lagCollector{x})
}
