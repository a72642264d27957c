package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// publish brings this site's deltas into its stream, every Interval, and its
// head into the news.
func (x *Exchange) publish(ctx context.Context) {
	tick := time.NewTicker(x.o.Interval)
	defer tick.Stop()
	var wait backoff
	p := publisher{Exchange: x}
	for {
		err := p.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			x.spoke.Store(0)
			x.link.failed(partPublish, err)
			if !wait.pause(ctx) {
				return
			}
			continue
		}
		x.link.works(partPublish)
		wait.succeeded()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// publisher is the state of the publish loop.
type publisher struct {
	*Exchange
	resumed bool      // tail is known, and the database knows it
	tail    Position  // where our stream ends
	spoke   time.Time // when the news last had our head
}

// round publishes what changed. What fails is done again by the next round: the
// database gives the same delta until it is told of its publication, and the
// stream takes no delta twice.
func (p *publisher) round(ctx context.Context) error {
	if !p.resumed {
		if err := p.resume(ctx); err != nil {
			return err
		}
	}
	err := p.drain(ctx)
	if err == nil && time.Since(p.spoke) >= p.o.Heartbeat {
		err = p.streams.heartbeat(ctx, p.site, p.tail)
		p.noteSpoken(err)
	}
	if errors.Is(err, errMoved) {
		p.resumed = false
	}
	return err
}

// resume tells the database where our stream ends, so that it publishes again
// what the stream lacks.
func (p *publisher) resume(ctx context.Context) error {
	tail, err := p.streams.tail(ctx, p.site)
	if err != nil {
		return err
	}
	if err := p.db.Resume(tail.Epoch, tail.Seq); err != nil {
		return fmt.Errorf("resume after %v: %w", tail, err)
	}
	p.tail, p.resumed = tail, true
	p.published.Store(&tail)
	return nil
}

// drain publishes until there is nothing to publish.
func (p *publisher) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		d, ok, err := p.db.NextDelta()
		if err != nil {
			return fmt.Errorf("next delta: %w", err)
		}
		if !ok {
			return nil
		}
		at := Position{d.Epoch, d.Seq}
		if !at.after(p.tail) || len(d.Data) > maxRecord {
			return fmt.Errorf("delta %v of %d bytes does not fit behind %v in %s: "+
				"does another daemon use this site's name?", at, len(d.Data), p.tail, p.streams.stream(p.site))
		}
		err = p.streams.publish(ctx, d, p.tail, p.o.StreamLength)
		p.noteSpoken(err)
		if err != nil {
			return err
		}
		if err := p.db.Published(d); err != nil {
			return fmt.Errorf("delta %v: %w", at, err)
		}
		p.tail = at
		p.published.Store(&at)
		p.metrics.published.Inc()
		p.metrics.publishedBytes.Add(float64(len(d.Data)))
	}
	return ctx.Err()
}

func (p *publisher) noteSpoken(err error) {
	if err == nil {
		p.spoke = time.Now()
		p.Exchange.spoke.Store(p.spoke.UnixNano())
	}
}
