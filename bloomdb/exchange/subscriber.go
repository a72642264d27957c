package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// queuedNews is the maximum number of news waiting for the follower (4 MiB).
const queuedNews = 64

// news is one message of the channel: a delta or a heartbeat. Its head is unproven.
type news struct {
	head   wire.Head
	record []byte
}

// decodeNews decodes a message without verifying it. The record shares memory with it.
func decodeNews(message []byte) (news, error) {
	if len(message) > maxNews {
		return news{}, fmt.Errorf("news of %d bytes, limit %d", len(message), maxNews)
	}
	head, err := wire.DecodeHead(message)
	if err != nil {
		return news{}, fmt.Errorf("news: %w", err)
	}
	switch head.Type {
	case wire.RecordDelta:
	case wire.RecordHeartbeat:
		if len(message) > maxHeartbeat {
			return news{}, fmt.Errorf("news: %s of %d bytes, limit %d", head.Type, len(message), maxHeartbeat)
		}
	default:
		return news{}, fmt.Errorf("news: unexpected record type %s", head.Type)
	}
	return news{head: head, record: message}, nil
}

// subscribe listens to the channel, with a new subscription after every fault.
func (x *Exchange) subscribe(ctx context.Context) {
	var wait backoff
	for {
		err := x.listen(ctx, &wait)
		if ctx.Err() != nil {
			return
		}
		x.link.failed(partSubscribe, err)
		x.metrics.reconnects.Inc()
		if !sleep(ctx, wait.next()) {
			return
		}
	}
}

// listen passes on the news of one subscription until it fails.
//
// Each confirmation of the subscription means that news may have been lost before it. A
// link is dead if a ping gets no answer, or if our published news do not come back to us.
// (The second case detects a subscription to a demoted Redis that is cut off from the new
// one.)
func (x *Exchange) listen(ctx context.Context, wait *backoff) error {
	s, err := x.wire.subscribe(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	x.echoedAt.Store(time.Now().UnixNano())
	pinged := false
	for {
		e, err := s.receive(ctx, x.o.Heartbeat*3/2)
		switch {
		case err == nil:
			pinged = false
		case errors.Is(err, errQuiet) && !pinged:
			pinged = true
			if err := s.ping(ctx); err != nil {
				return err
			}
		default:
			return err
		}
		if e.subscribed {
			wait.succeeded()
			x.link.succeeded(partSubscribe)
			x.requestResync()
		}
		if e.message != nil {
			x.receive(e.message)
		}
		if silent := x.silence(); silent > 3*x.o.Heartbeat {
			return fmt.Errorf("own news have not come back for %v", silent.Round(time.Millisecond))
		}
	}
}

// silence returns how long our own news have not come back although Redis accepted them.
func (x *Exchange) silence() time.Duration {
	spoke := x.publishedAt.Load()
	if spoke == 0 {
		return 0
	}
	return time.Duration(spoke - x.echoedAt.Load())
}

// receive decodes one message and queues it for the follower. If the queue is full, it
// requests a check of the streams.
func (x *Exchange) receive(message []byte) {
	n, err := decodeNews(message)
	if err != nil {
		cause := causeNews
		if errors.Is(err, bloomdb.ErrNewer) {
			cause = causeNewer
		}
		x.refuse(nil, cause, err)
		return
	}
	if n.head.Site == x.site {
		x.receiveOwn(n)
		return
	}
	select {
	case x.news <- n:
	default:
		x.requestResync()
	}
}

// requestResync notifies the follower that news may be missing.
func (x *Exchange) requestResync() {
	select {
	case x.resync <- struct{}{}:
	default: // already requested
	}
}
