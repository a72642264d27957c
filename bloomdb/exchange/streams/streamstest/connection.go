package streamstest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Connection is one site's connection to the simulated log.
type Connection struct {
	Log  *Log
	Cut  atomic.Bool // no data passes
	Hang atomic.Bool // no answer comes any more
	// Unanswered is the probability, in thousandths, that a command is carried out but its
	// answer is lost.
	Unanswered atomic.Int64
}

var _ streams.Transport = (*Connection)(nil)

// answerTimeout is how long a command waits for an answer that was lost.
const answerTimeout = 3 * time.Second

var errTimeout = errors.New("i/o timeout")

// do sends a command: it takes some time, and may fail before or after it had its effect.
func (w *Connection) do(ctx context.Context, command func(*Log) error) error {
	w.Log.mu.Lock()
	latency := time.Duration(w.Log.random.Int64N(int64(20 * time.Millisecond)))
	unanswered := w.Log.chance(float64(w.Unanswered.Load()) / 1000)
	before := w.Log.chance(0.5)
	w.Log.mu.Unlock()
	if !link.Sleep(ctx, latency) {
		return ctx.Err()
	}
	hang := w.Hang.Load()
	if w.Cut.Load() || hang && before {
		return w.timeout(ctx, hang)
	}
	w.Log.mu.Lock()
	err := command(w.Log)
	w.Log.mu.Unlock()
	if unanswered || hang {
		return w.timeout(ctx, hang)
	}
	return err
}

func (w *Connection) timeout(ctx context.Context, forEver bool) error {
	if forEver {
		<-ctx.Done()
		return ctx.Err()
	}
	link.Sleep(ctx, answerTimeout)
	return errTimeout
}

func (w *Connection) Tail(ctx context.Context, site string) (end streams.End, err error) {
	err = w.do(ctx, func(l *Log) error { end = l.tail(site); return nil })
	return end, err
}

func (w *Connection) Reclaim(ctx context.Context, site string, end streams.Position) error {
	return w.do(ctx, func(l *Log) error {
		if l.state.Streams[site].Tail == end {
			delete(l.state.Streams, site)
		}
		return nil
	})
}

func (w *Connection) Spread(ctx context.Context, record []byte) error {
	return w.do(ctx, func(l *Log) error { l.spread(record); return nil })
}

func (w *Connection) Head(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *Log) error { record = l.state.Heads[site]; return nil })
	return record, err
}

func (w *Connection) Publish(ctx context.Context, d wire.Delta, before streams.Position, length int64) error {
	return w.do(ctx, func(l *Log) error { return l.publish(d, before, int(length)) })
}

func (w *Connection) Heartbeat(ctx context.Context, site string, record []byte, tail streams.Position, p *streams.Place) error {
	return w.do(ctx, func(l *Log) error { return l.heartbeat(site, record, tail, p) })
}

func (w *Connection) Read(ctx context.Context, site string, after streams.Position) (batch []streams.Entry, err error) {
	err = w.do(ctx, func(l *Log) error { batch = l.read(site, after); return nil })
	return batch, err
}

func (w *Connection) Heads(ctx context.Context) (heads []streams.Head, bad int, err error) {
	err = w.do(ctx, func(l *Log) error {
		for site, record := range l.state.Heads {
			heads = append(heads, streams.Head{Site: site, Heartbeat: record, Tail: l.state.Tails[site]})
		}
		return nil
	})
	return heads, 0, err
}

func (w *Connection) ClearSlot(ctx context.Context, site string, slot byte) error {
	return w.do(ctx, func(l *Log) error { delete(l.state.Slots, site+string(slot)); return nil })
}

func (w *Connection) WriteChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error {
	return w.do(ctx, func(l *Log) error {
		key := site + string(slot)
		if l.state.Slots[key] == nil {
			l.state.Slots[key] = make(map[int][]byte)
		}
		l.state.Slots[key][i] = chunk
		return nil
	})
}

func (w *Connection) Commit(ctx context.Context, c streams.Commit) error {
	return w.do(ctx, func(l *Log) error { return l.commit(c) })
}

func (w *Connection) Manifest(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *Log) error { record = l.state.Manifests[site]; return nil })
	return record, err
}

func (w *Connection) Chunk(ctx context.Context, site string, slot byte, i int) (chunk []byte, err error) {
	err = w.do(ctx, func(l *Log) error { chunk = l.state.Slots[site+string(slot)][i]; return nil })
	return chunk, err
}

func (w *Connection) WriteVotes(ctx context.Context, site string, record []byte) error {
	return w.do(ctx, func(l *Log) error { l.state.Votes[site] = record; return nil })
}

func (w *Connection) Votes(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *Log) error { record = l.state.Votes[site]; return nil })
	return record, err
}

func (w *Connection) Subscribe(ctx context.Context) (streams.Subscription, error) {
	s := &subscription{wire: w, events: make(chan streams.Event, 1000), broken: make(chan struct{})}
	err := w.do(ctx, func(l *Log) error {
		l.subs[s] = true
		s.events <- streams.Event{Subscribed: true}
		return nil
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// subscription is a subscription to the simulated channel.
type subscription struct {
	wire   *Connection
	events chan streams.Event
	over   atomic.Bool
	broken chan struct{}
}

// deliver delivers a message, unless the link is cut.
func (s *subscription) deliver(message []byte) {
	if s.wire.Cut.Load() {
		return
	}
	select {
	case s.events <- streams.Event{Message: message}:
	default: // a slow reader misses messages beyond the buffer
	}
}

func (s *subscription) Receive(ctx context.Context, d time.Duration) (streams.Event, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return streams.Event{}, ctx.Err()
	case <-s.broken:
		return streams.Event{}, errors.New("connection reset by peer")
	case e := <-s.events:
		return e, nil
	case <-t.C:
		return streams.Event{}, streams.ErrQuiet
	}
}

// Ping is answered unless the link is cut.
func (s *subscription) Ping(context.Context) error {
	if !s.wire.Cut.Load() {
		select {
		case s.events <- streams.Event{}:
		default:
		}
	}
	return nil
}

// breakOff ends the subscription from the other side. The caller holds the log's mutex.
func (s *subscription) breakOff() {
	if !s.over.Swap(true) {
		close(s.broken)
	}
	delete(s.wire.Log.subs, s)
}

func (s *subscription) Close() {
	s.wire.Log.mu.Lock()
	defer s.wire.Log.mu.Unlock()
	s.breakOff()
}
