package exchange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// nameTakenWait is how long a site whose name another one uses keeps silent.
// Both would publish all they know again and again.
const nameTakenWait = time.Minute

// errNameTaken says that somebody else writes our stream.
var errNameTaken = errors.New("another daemon publishes under this site's name: give each its own [site] name; what is reported here is kept, and tried again in a minute")

// publish brings this site's deltas into its stream, every Interval, and its
// head into the news, every Heartbeat.
func (x *Exchange) publish(ctx context.Context) {
	interval := time.NewTicker(x.o.Interval)
	defer interval.Stop()
	heartbeat := time.NewTicker(x.o.Heartbeat)
	defer heartbeat.Stop()
	p := publisher{Exchange: x}
	var wait backoff
	step := p.drain
	for {
		err := p.take(ctx, step)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			x.spoke.Store(0)
			x.link.failed(partPublish, err)
			after := wait.next()
			if errors.Is(err, errNameTaken) {
				x.log.Error("deltas stay here", "error", err)
				after = nameTakenWait
			}
			if !sleep(ctx, after) {
				return
			}
			continue
		}
		x.link.works(partPublish)
		wait.succeeded()
		select {
		case <-ctx.Done():
			return
		case <-interval.C:
			step = p.drain
		case <-heartbeat.C:
			step = p.heartbeat
		}
	}
}

// publisher is the state of the publish loop.
type publisher struct {
	*Exchange
	resumed bool     // tail is known, to us and to the database
	started bool     // it was once
	tail    Position // where our stream ends
	sent    Position // the last delta we tried to publish
}

// take does one step. What fails is done again: the database gives the same
// delta until it is told of its publication, and the stream takes none twice.
func (p *publisher) take(ctx context.Context, step func(context.Context) error) error {
	if !p.resumed {
		if err := p.resume(ctx); err != nil {
			return err
		}
	}
	err := step(ctx)
	if errors.Is(err, errMoved) {
		p.resumed = false
	}
	return err
}

// resume tells the database where our stream ends, so that it publishes again
// what the stream lacks.
func (p *publisher) resume(ctx context.Context) error {
	key := p.streams.stream(p.site)
	tail, err := p.streams.tail(ctx, p.site)
	switch {
	case err != nil:
		return err
	case tail.Epoch == math.MaxUint64: // garbage: no later epoch is left
		return fmt.Errorf("%s ends with %v, which no site writes: delete that key", key, tail)
	case p.started && tail.after(p.sent) && tail.after(p.tail):
		p.tail = tail // next time, only what comes after it counts
		return fmt.Errorf("%s goes on to %v: %w", key, tail, errNameTaken)
	}
	if err := p.db.Resume(tail.Epoch, tail.Seq); err != nil {
		return fmt.Errorf("resume after %v: %w", tail, err)
	}
	p.tail, p.started, p.resumed = tail, true, true
	return nil
}

// drain publishes until there is nothing to publish.
func (p *publisher) drain(ctx context.Context) error {
	for {
		d, ok, err := p.db.NextDelta(true)
		if err != nil {
			return fmt.Errorf("next delta: %w", err)
		}
		if !ok {
			return nil
		}
		p.sent = Position{d.Epoch, d.Seq}
		if err := p.streams.publish(ctx, d, p.tail, p.o.StreamLength); err != nil {
			return err
		}
		p.spoke.Store(time.Now().UnixNano())
		p.tail = p.sent
		if err := p.db.Published(d); err != nil {
			return fmt.Errorf("delta %v: %w", p.sent, err)
		}
		p.metrics.published.Inc()
		p.metrics.publishedBytes.Add(float64(len(d.Data)))
	}
}

// heartbeat announces the head.
func (p *publisher) heartbeat(ctx context.Context) error {
	if err := p.streams.heartbeat(ctx, p.site, p.tail); err != nil {
		return err
	}
	p.spoke.Store(time.Now().UnixNano())
	return nil
}
