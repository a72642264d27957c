package exchange

import (
	"context"
	"sync"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/publisher"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/subscriber"
)

// Options set intervals and limits.
type Options = publisher.Options

// Exchange connects one database to its federation. Status and Collectors are safe for
// concurrent use at any time.
type Exchange struct {
	db         *bloomdb.DB
	link       *link.Link
	refused    *refusal.Counts
	follower   *follower.Follower
	publisher  *publisher.Publisher
	subscriber *subscriber.Subscriber
}

// New returns an Exchange for a database opened with Options.Exchange.
func New(db *bloomdb.DB, t streams.Transport, o Options) *Exchange {
	o = o.WithDefaults()
	x := &Exchange{db: db, link: link.New(o.Log), refused: refusal.New(o.Log)}
	x.follower = follower.New(db, t, x.link, x.refused, o.Log)
	x.publisher = publisher.New(db, t, x.link, publisher.Requests{Missing: x.follower.Incomplete, Wanted: x.follower.WantedAt}, o)
	x.subscriber = subscriber.New(db, t, x.link, x.refused, x.follower, x.publisher, o.Heartbeat)
	return x
}

// Run exchanges until ctx ends and then returns nil. Faults of Redis are retried, never
// returned: they appear in the log, in Status and in the metrics. On a link that swallows
// everything, Run may return late by up to the client's timeouts (5 s).
func (x *Exchange) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { x.publisher.Run(ctx) })
	wg.Go(func() { x.subscriber.Run(ctx) })
	wg.Go(func() { x.follower.Run(ctx) })
	wg.Wait()
	return nil
}
