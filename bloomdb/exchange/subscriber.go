package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// queuedNews is how many news wait for the follower at most (4 MiB of them).
const queuedNews = 64

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

// listen hands on the news of one subscription until it fails.
//
// The client's own Channel hides what matters here: it subscribes again in
// silence, drops news of a slow reader, and never notices a link that swallows
// everything, for it does not look for the answers to its pings. So we receive
// by ourselves: every Subscription that arrives means that news may have been
// lost before it, and a link is dead when a ping stays without any answer, or
// when what we publish does not come back to us. (The second is how a
// subscription to a demoted Redis, cut off from the new one, is found.)
func (x *Exchange) listen(ctx context.Context, wait *backoff) error {
	ps := x.streams.redis.Subscribe(ctx)
	defer ps.Close()
	defer context.AfterFunc(ctx, func() { ps.Close() })() // ReceiveTimeout does not look at ctx
	if err := ps.Subscribe(ctx, x.streams.channel()); err != nil {
		return err
	}
	x.heard.Store(time.Now().UnixNano())
	pinged := false
	for {
		msg, err := ps.ReceiveTimeout(ctx, x.o.Heartbeat*3/2)
		var timeout net.Error
		switch {
		case err == nil:
			pinged = false
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			pinged = true
			if err := ps.Ping(ctx); err != nil {
				return err
			}
		default:
			return err
		}
		switch msg := msg.(type) {
		case *redis.Subscription:
			wait.succeeded()
			x.link.works(partSubscribe)
			x.requestResync()
		case *redis.Message:
			x.receive([]byte(msg.Payload))
		}
		if silent := x.silence(); silent > 3*x.o.Heartbeat {
			return fmt.Errorf("own news did not come back for %v", silent.Round(time.Millisecond))
		}
	}
}

// silence is how long our own news have not come back although Redis took them.
func (x *Exchange) silence() time.Duration {
	spoke := x.spoke.Load()
	if spoke == 0 {
		return 0
	}
	return time.Duration(spoke - x.heard.Load())
}

// receive decodes one message and queues it for the follower, or asks for the
// streams to be looked at where the queue is full.
func (x *Exchange) receive(payload []byte) {
	n, err := decodeNews(payload)
	if err != nil {
		x.refuse("", causeNews, err)
		return
	}
	if n.site == x.site {
		x.heard.Store(time.Now().UnixNano())
		return
	}
	select {
	case x.news <- n:
	default:
		x.requestResync()
	}
}

// requestResync tells the follower that news may be missing.
func (x *Exchange) requestResync() {
	select {
	case x.resync <- struct{}{}:
	default: // asked for already
	}
}
