// Package subscriber listens to the channel of a federation, and passes its messages on: to
// the follower those of other sites, to the publisher an own one that is newer than this
// site's folder.
//
// It owns the subscription, and decides when the link is dead. It does not verify records
// of other sites, and applies nothing. It has no locks, and never waits for the follower.
package subscriber

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/publisher"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Subscriber is the subscription of one site. Run is called once.
type Subscriber struct {
	db         *bloomdb.DB
	site       string // this site's name
	streams    streams.Transport
	link       *link.Link
	refused    *refusal.Counts
	follower   *follower.Follower
	publisher  *publisher.Publisher
	heartbeat  time.Duration // between two heartbeats of this site
	reconnects prometheus.Counter
	paced      time.Time // when newsRate permits all messages so far; used by Run only
}

// New returns the subscriber of a site that publishes a heartbeat in each interval.
func New(db *bloomdb.DB, t streams.Transport, l *link.Link, refused *refusal.Counts, f *follower.Follower, p *publisher.Publisher, heartbeat time.Duration) *Subscriber {
	return &Subscriber{
		db: db, site: db.Site(), streams: t, link: l, refused: refused, follower: f, publisher: p, heartbeat: heartbeat,
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "spambloom_exchange_resubscriptions_total", Help: "Subscriptions given up after a fault.",
		}),
	}
}

// Collector returns the subscriber's metric.
func (s *Subscriber) Collector() prometheus.Collector { return s.reconnects }

// Run listens to the channel, with a new subscription after every fault. It returns when
// ctx ends.
func (s *Subscriber) Run(ctx context.Context) {
	var wait link.Backoff
	for {
		err := s.listen(ctx, &wait)
		if ctx.Err() != nil {
			return
		}
		s.link.Failed(link.Subscribe, err)
		s.reconnects.Inc()
		if !link.Sleep(ctx, wait.Next()) {
			return
		}
	}
}

const (
	// newsRate is the number of messages a second that are read on average: 1,024 sites send a
	// heartbeat every two seconds, and a delta every second. A client without a key can send any
	// number, and each that repeats a record costs a verification.
	newsRate = 2000
	// newsBurst is how far ahead of that rate they may be.
	newsBurst = 10 * time.Second
)

// pace waits if more messages arrived than newsRate permits.
func (s *Subscriber) pace(ctx context.Context) {
	now := time.Now()
	if s.paced.Before(now) {
		s.paced = now
	}
	s.paced = s.paced.Add(time.Second / newsRate)
	if wait := s.paced.Sub(now) - newsBurst; wait > 0 {
		link.Sleep(ctx, wait)
	}
}

// listen passes on the news of one subscription until it fails.
//
// Each confirmation of the subscription means that news may have been lost before it. A
// link is dead if a ping gets no answer, or if our published news do not come back to us.
// (The second case detects a subscription to a demoted Redis that is cut off from the new
// one.)
func (s *Subscriber) listen(ctx context.Context, wait *link.Backoff) error {
	sub, err := s.streams.Subscribe(ctx)
	if err != nil {
		return err
	}
	defer sub.Close()
	s.link.Echoed()
	pinged := false
	for {
		e, err := sub.Receive(ctx, s.heartbeat*3/2)
		switch {
		case err == nil:
			pinged = false
		case errors.Is(err, streams.ErrQuiet) && !pinged:
			pinged = true
			if err := sub.Ping(ctx); err != nil {
				return err
			}
		default:
			return err
		}
		if e.Subscribed {
			wait.Succeeded()
			s.link.Succeeded(link.Subscribe)
			s.follower.Resync()
		}
		if e.Message != nil {
			s.receive(e.Message)
			s.pace(ctx)
		}
		if silent := s.link.Silence(); silent > 3*s.heartbeat {
			return fmt.Errorf("own news have not come back for %v", silent.Round(time.Millisecond))
		}
	}
}

// receive decodes one message and passes it on.
func (s *Subscriber) receive(message []byte) {
	n, err := decode(message)
	switch {
	case errors.Is(err, layout.ErrNewer):
		s.refused.Add("", refusal.Newer, err)
	case err != nil:
		s.refused.Add("", refusal.News, err)
	case n.Head.Site == s.site:
		s.receiveOwn(n)
	default:
		s.follower.Receive(n)
	}
}

// decode decodes a message without verifying it. The record shares memory with it.
func decode(message []byte) (follower.News, error) {
	if len(message) > streams.MaxNews {
		return follower.News{}, fmt.Errorf("news of %d bytes, limit %d", len(message), streams.MaxNews)
	}
	head, err := wire.DecodeHead(message)
	if err != nil {
		return follower.News{}, fmt.Errorf("news: %w", err)
	}
	switch head.Type {
	case wire.RecordDelta:
	case wire.RecordHeartbeat:
		if len(message) > streams.MaxHeartbeat {
			return follower.News{}, fmt.Errorf("news: %s of %d bytes, limit %d", head.Type, len(message), streams.MaxHeartbeat)
		}
	default:
		return follower.News{}, fmt.Errorf("news: unexpected record type %s", head.Type)
	}
	return follower.News{Head: head, Record: message}, nil
}

// receiveOwn handles news of this site: a record that comes back from Redis, or an earlier
// heartbeat that other sites repeat because they hold a newer epoch of this site.
func (s *Subscriber) receiveOwn(n follower.News) {
	h, err := s.db.OwnRecord(n.Record, n.Head.Type)
	if err != nil {
		s.refused.Add("", refusal.CauseOf(err), err)
		return
	}
	s.link.Echoed()
	if h.Type == wire.RecordHeartbeat && s.db.IsBeyond(h.Epoch, h.Seq) {
		s.publisher.Overtaken(h)
	}
}
