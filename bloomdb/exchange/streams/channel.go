package streams

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
)

// channelSubscription is a subscription to the channel in Redis. The library's own Channel
// is unsuitable: it resubscribes silently, drops messages for a slow reader, and never
// notices a link that swallows everything, because it does not check for answers to its
// pings.
type channelSubscription struct {
	client  *redisclient.Client
	pubsub  *redis.PubSub
	channel string
	stop    func() bool
}

func (s *Redis) Subscribe(ctx context.Context) (Subscription, error) {
	ps := s.redis.Subscribe(ctx)
	c := &channelSubscription{client: s.redis, pubsub: ps, channel: s.Channel()}
	c.stop = context.AfterFunc(ctx, func() { ps.Close() }) // ReceiveTimeout does not observe ctx
	var err error
	c.client.Own(ctx, func(ctx context.Context) { err = ps.Subscribe(ctx, s.Channel()) })
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *channelSubscription) Receive(ctx context.Context, d time.Duration) (Event, error) {
	var msg any
	var err error
	c.client.Own(ctx, func(ctx context.Context) { msg, err = c.next(ctx, d) })
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return Event{}, ErrQuiet
	}
	if err != nil {
		return Event{}, err
	}
	switch msg := msg.(type) {
	case *redis.Subscription:
		return Event{Subscribed: true}, nil
	case *redis.Message:
		return Event{Message: []byte(msg.Payload)}, nil
	}
	return Event{}, nil
}

// next returns the next message. The library asserts the form of messages, and panics at any
// other one. What answers as Redis must not end the process with that.
func (c *channelSubscription) next(ctx context.Context, d time.Duration) (msg any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: redis sends what is no message: %v", c.channel, v)
		}
	}()
	return c.pubsub.ReceiveTimeout(ctx, d)
}

func (c *channelSubscription) Ping(ctx context.Context) (err error) {
	c.client.Own(ctx, func(ctx context.Context) { err = c.pubsub.Ping(ctx) })
	return err
}

func (c *channelSubscription) Close() {
	c.stop()
	c.pubsub.Close()
}
