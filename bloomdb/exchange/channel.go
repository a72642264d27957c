package exchange

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// channelSubscription is a subscription to the channel in Redis. The client's own
// Channel hides what matters here: it subscribes again in silence, drops news of a
// slow reader, and never notices a link that swallows everything, for it does not
// look for the answers to its pings.
type channelSubscription struct {
	pubsub *redis.PubSub
	stop   func() bool
}

func (s *streams) subscribe(ctx context.Context) (subscription, error) {
	ps := s.redis.Subscribe(ctx)
	stop := context.AfterFunc(ctx, func() { ps.Close() }) // ReceiveTimeout does not look at ctx
	if err := ps.Subscribe(ctx, s.channel()); err != nil {
		stop()
		ps.Close()
		return nil, err
	}
	return &channelSubscription{pubsub: ps, stop: stop}, nil
}

func (c *channelSubscription) receive(ctx context.Context, d time.Duration) (event, error) {
	msg, err := c.pubsub.ReceiveTimeout(ctx, d)
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

func (c *channelSubscription) ping(ctx context.Context) error { return c.pubsub.Ping(ctx) }

func (c *channelSubscription) close() {
	c.stop()
	c.pubsub.Close()
}
