package exchange

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// simWire is one site's connection to the simulated log.
type simWire struct {
	log  *simLog
	cut  atomic.Bool // no data passes
	hang atomic.Bool // no answer comes any more
	// unanswered is the probability, in thousandths, that a command is carried out but its
	// answer is lost.
	unanswered atomic.Int64
}

var _ transport = (*simWire)(nil)

var errTimeout = errors.New("i/o timeout")

// do sends a command: it takes some time, and may fail before or after it had its effect.
func (w *simWire) do(ctx context.Context, command func(*simLog) error) error {
	w.log.mu.Lock()
	latency := time.Duration(w.log.random.Int64N(int64(20 * time.Millisecond)))
	unanswered := w.log.chance(float64(w.unanswered.Load()) / 1000)
	before := w.log.chance(0.5)
	w.log.mu.Unlock()
	if !sleep(ctx, latency) {
		return ctx.Err()
	}
	hang := w.hang.Load()
	if w.cut.Load() || hang && before {
		return w.timeout(ctx, hang)
	}
	w.log.mu.Lock()
	err := command(w.log)
	w.log.mu.Unlock()
	if unanswered || hang {
		return w.timeout(ctx, hang)
	}
	return err
}

func (w *simWire) timeout(ctx context.Context, forEver bool) error {
	if forEver {
		<-ctx.Done()
		return ctx.Err()
	}
	sleep(ctx, ioTimeout)
	return errTimeout
}

func (w *simWire) tail(ctx context.Context, site string) (end streamEnd, err error) {
	err = w.do(ctx, func(l *simLog) error { end = l.tail(site); return nil })
	return end, err
}

func (w *simWire) reclaim(ctx context.Context, site string, end Position) error {
	return w.do(ctx, func(l *simLog) error {
		if l.keys.streams[site].tail == end {
			delete(l.keys.streams, site)
		}
		return nil
	})
}

func (w *simWire) spread(ctx context.Context, record []byte) error {
	return w.do(ctx, func(l *simLog) error { l.spread(record); return nil })
}

func (w *simWire) head(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *simLog) error { record = l.keys.heads[site]; return nil })
	return record, err
}

func (w *simWire) publish(ctx context.Context, d wire.Delta, before Position, length int64) error {
	return w.do(ctx, func(l *simLog) error { return l.publish(d, before, int(length)) })
}

func (w *simWire) heartbeat(ctx context.Context, site string, record []byte, tail Position, p *place) error {
	return w.do(ctx, func(l *simLog) error { return l.heartbeat(site, record, tail, p) })
}

func (w *simWire) read(ctx context.Context, site string, after Position) (batch []entry, err error) {
	err = w.do(ctx, func(l *simLog) error { batch = l.read(site, after); return nil })
	return batch, err
}

func (w *simWire) heads(ctx context.Context) (heads []head, bad int, err error) {
	err = w.do(ctx, func(l *simLog) error {
		for site, record := range l.keys.heads {
			heads = append(heads, head{site, record, l.keys.tails[site]})
		}
		return nil
	})
	return heads, 0, err
}

func (w *simWire) clearSlot(ctx context.Context, site string, slot byte) error {
	return w.do(ctx, func(l *simLog) error { delete(l.keys.slots, site+string(slot)); return nil })
}

func (w *simWire) writeChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error {
	return w.do(ctx, func(l *simLog) error {
		key := site + string(slot)
		if l.keys.slots[key] == nil {
			l.keys.slots[key] = make(map[int][]byte)
		}
		l.keys.slots[key][i] = chunk
		return nil
	})
}

func (w *simWire) commit(ctx context.Context, c commit) error {
	return w.do(ctx, func(l *simLog) error { return l.commit(c) })
}

func (w *simWire) manifest(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *simLog) error { record = l.keys.manifests[site]; return nil })
	return record, err
}

func (w *simWire) chunk(ctx context.Context, site string, slot byte, i int) (chunk []byte, err error) {
	err = w.do(ctx, func(l *simLog) error { chunk = l.keys.slots[site+string(slot)][i]; return nil })
	return chunk, err
}

func (w *simWire) writeVotes(ctx context.Context, site string, record []byte) error {
	return w.do(ctx, func(l *simLog) error { l.keys.votes[site] = record; return nil })
}

func (w *simWire) votes(ctx context.Context, site string) (record []byte, err error) {
	err = w.do(ctx, func(l *simLog) error { record = l.keys.votes[site]; return nil })
	return record, err
}

func (w *simWire) subscribe(ctx context.Context) (subscription, error) {
	s := &simSubscription{wire: w, events: make(chan event, 1000), broken: make(chan struct{})}
	err := w.do(ctx, func(l *simLog) error {
		l.subs[s] = true
		s.events <- event{subscribed: true}
		return nil
	})
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// simSubscription is a subscription to the simulated channel.
type simSubscription struct {
	wire   *simWire
	events chan event
	over   atomic.Bool
	broken chan struct{}
}

// deliver delivers a message, unless the link is cut.
func (s *simSubscription) deliver(message []byte) {
	if s.wire.cut.Load() {
		return
	}
	select {
	case s.events <- event{message: message}:
	default: // a slow reader misses messages beyond the buffer
	}
}

func (s *simSubscription) receive(ctx context.Context, d time.Duration) (event, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return event{}, ctx.Err()
	case <-s.broken:
		return event{}, errors.New("connection reset by peer")
	case e := <-s.events:
		return e, nil
	case <-t.C:
		return event{}, errQuiet
	}
}

// ping is answered unless the link is cut.
func (s *simSubscription) ping(context.Context) error {
	if !s.wire.cut.Load() {
		select {
		case s.events <- event{}:
		default:
		}
	}
	return nil
}

// breakOff ends the subscription from the other side. The caller holds the log's mutex.
func (s *simSubscription) breakOff() {
	if !s.over.Swap(true) {
		close(s.broken)
	}
	delete(s.wire.log.subs, s)
}

func (s *simSubscription) close() {
	s.wire.log.mu.Lock()
	defer s.wire.log.mu.Unlock()
	s.breakOff()
}
