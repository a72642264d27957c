package redisclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client is a Redis client whose Close waits. It is safe for concurrent use.
type Client struct {
	redis.UniversalClient
	dialer    *dialer
	sentinels *sentinels // nil: none
	owner     string     // value of the label ownerLabel
}

// ownerLabel is the label of all goroutines started by a client.
const ownerLabel = "redis client"

// The library sleeps for at most a second at a time. A goroutine still running after
// endPatience is a defect, which must not prevent a daemon from stopping.
const (
	endTick     = 5 * time.Millisecond
	endPatience = 30 * time.Second
)

var clients atomic.Int64

// newClient returns a client. The library may start goroutines at once.
func newClient(d *dialer, connect func(*dialer) redis.UniversalClient) *Client {
	c := &Client{dialer: d, owner: strconv.FormatInt(clients.Add(1), 10)}
	c.Own(context.Background(), func(context.Context) { c.UniversalClient = connect(d) })
	c.AddHook(ownHook{c})
	return c
}

// Own calls f. Close waits for the goroutines that f starts, directly or indirectly.
func (c *Client) Own(ctx context.Context, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(ownerLabel, c.owner), f)
}

// Close ends dials and connections, and returns when no goroutine of the library is left.
// It does not wait for commands in the caller's own goroutines, which fail.
//
// The library's Close does not wait. A goroutine that dials for a pool (tryDial) may sleep
// for a second before it sees that the pool is closed, one that reloads the nodes of a
// cluster for 200 ms. They cannot be woken and do not report their end. Therefore every
// goroutine of a client inherits its label, and Close looks for the label in the runtime's
// profile.
func (c *Client) Close() error {
	c.dialer.close() // first: the library's Close waits for commands
	err := unlessClosed(c.UniversalClient.Close())
	if c.sentinels != nil {
		err = errors.Join(err, c.sentinels.close())
	}
	tick := time.NewTicker(endTick)
	defer tick.Stop()
	deadline := time.Now().Add(endPatience)
	for {
		stack := c.working()
		if stack == "" {
			return err
		}
		if now := <-tick.C; now.After(deadline) {
			return errors.Join(err, fmt.Errorf("redis client: still running %v after Close: %s", endPatience, stack))
		}
	}
}

// unlessClosed returns the error of closing connections that the dialer may have closed before.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// working returns the stack of a library goroutine that works for this client, or "". It
// ignores goroutines of package net that wait for a name server: no context ends the
// system's resolver.
func (c *Client) working() string {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1) // a buffer does not fail
	label := fmt.Appendf(nil, "%q:%q", ownerLabel, c.owner)
	for stack := range bytes.SplitSeq(profile.Bytes(), []byte("\n\n")) {
		if bytes.Contains(stack, label) && bytes.Contains(stack, []byte("github.com/redis/go-redis/")) {
			return string(stack)
		}
	}
	return ""
}

// ownHook makes every command own the goroutines that it starts.
type ownHook struct{ client *Client }

func (h ownHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h ownHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		h.client.Own(ctx, func(ctx context.Context) { err = next(ctx, cmd) })
		return err
	}
}

func (h ownHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		h.client.Own(ctx, func(ctx context.Context) { err = next(ctx, cmds) })
		return err
	}
}
