package exchange

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// channelSubscription is a subscription to the channel in Redis. The library's own Channel
// is unsuitable: it resubscribes silently, drops messages for a slow reader, and never
// notices a link that swallows everything, because it does not check for answers to its
// pings.
type channelSubscription struct {
	client *Client
	pubsub *redis.PubSub
	stop   func() bool
}

func (s *streams) subscribe(ctx context.Context) (subscription, error) {
	ps := s.redis.Subscribe(ctx)
	c := &channelSubscription{client: s.redis, pubsub: ps}
	c.stop = context.AfterFunc(ctx, func() { ps.Close() }) // ReceiveTimeout does not observe ctx
	var err error
	c.client.own(ctx, func(ctx context.Context) { err = ps.Subscribe(ctx, s.channel()) })
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *channelSubscription) receive(ctx context.Context, d time.Duration) (event, error) {
	var msg any
	var err error
	c.client.own(ctx, func(ctx context.Context) { msg, err = c.pubsub.ReceiveTimeout(ctx, d) })
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return event{}, errQuiet
	}
	if err != nil {
		return event{}, err
	}
	switch msg := msg.(type) {
	case *redis.Subscription:
		return event{subscribed: true}, nil
	case *redis.Message:
		return event{message: []byte(msg.Payload)}, nil
	}
	return event{}, nil
}

func (c *channelSubscription) ping(ctx context.Context) (err error) {
	c.client.own(ctx, func(ctx context.Context) { err = c.pubsub.Ping(ctx) })
	return err
}

func (c *channelSubscription) close() {
	c.stop()
	c.pubsub.Close()
}
