package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// nameTakenWait is how long a site whose name another one uses keeps silent.
// Both would publish all they know again and again.
const nameTakenWait = time.Minute

// errNameTaken says that somebody else writes our stream.
var errNameTaken = errors.New("another daemon publishes under this site's name: give each its own [site] name; what is reported here is kept, and tried again in a minute")

// publish brings this site's deltas into its stream, its snapshots and votes to
// where others find them, and its head into the news.
func (x *Exchange) publish(ctx context.Context) {
	p := newPublisher(x)
	var wait backoff
	for ctx.Err() == nil {
		p.lookForReports()
		step := p.next(time.Now())
		if step == nil {
			p.rest(ctx)
			continue
		}
		err := p.take(ctx, step)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			x.link.works(partPublish)
			wait.succeeded()
			continue
		}
		x.spoke.Store(0)
		x.link.failed(partPublish, err)
		after := wait.next()
		if errors.Is(err, errNameTaken) {
			x.log.Error("deltas stay here", "error", err)
			after = nameTakenWait
		}
		sleep(ctx, after)
	}
}

// publisher is the state of the publish loop.
type publisher struct {
	*Exchange
	schedule schedule
	resumed  bool     // tail is known, to us and to the database
	started  bool     // it was once
	tail     Position // where our stream ends

	began    time.Time // by the clock that records are made with
	taken    time.Time // when another daemon of this name made the last record of it that is known
	sent     Position  // the last delta we tried to publish
	counted  int       // bytes published since counts were due
	reported bool      // the last step published reports

	snapshot publishedSnapshot
	writing  *snapshotWriting // nil: none
	noRoom   time.Time        // before this, no snapshot is begun
	begun    time.Time        // the last snapshot was
	row      int              // snapshots begun one soon after the other
	again    time.Time        // before this, no other one is begun
	votes    uint64           // stamp of the votes in Redis; 0: none of this life
	votesAt  time.Time
}

func newPublisher(x *Exchange) *publisher {
	return &publisher{Exchange: x, began: x.db.Now(), schedule: schedule{least: x.o.Interval, most: x.o.MaxInterval}}
}

// next is what is to be done now; nil where all is done. What people reported goes
// first, but a heartbeat does not wait for the end of many reports: it tells of the
// deltas that the news does not carry. A snapshot is written where nothing else is to
// do.
func (p *publisher) next(now time.Time) func(context.Context) error {
	heartbeat := p.schedule.heartbeatDue(now)
	switch {
	case p.schedule.reportsDue(now) && !(heartbeat && p.reported):
		return p.publishReports
	case heartbeat:
		return p.beat
	case p.schedule.countsDue(now):
		return p.publishCounts
	case p.writing != nil:
		return p.writeSnapshot
	}
	return nil
}

// rest waits until something is to be done.
func (p *publisher) rest(ctx context.Context) {
	t := time.NewTimer(time.Until(p.schedule.earliest()))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-p.db.Changed():
		p.schedule.reported(time.Now())
	case <-t.C:
	}
}

// lookForReports notices what rest would have.
func (p *publisher) lookForReports() {
	select {
	case <-p.db.Changed():
		p.schedule.reported(time.Now())
	default:
	}
}

// take does one step. What fails is done again: the database gives the same
// delta until it is told of its publication, and the stream takes none twice.
func (p *publisher) take(ctx context.Context, step func(context.Context) error) error {
	if p.past.Load() != nil {
		p.resumed = false
	}
	if !p.resumed {
		if err := p.resume(ctx); err != nil {
			return p.overcome(ctx, err)
		}
		step = p.beat // who has not been heard of is not read
	}
	return p.overcome(ctx, step(ctx))
}

// overcome does what can be done at once about a failure.
func (p *publisher) overcome(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errMoved):
		p.resumed = false
	case errors.Is(err, errNotOurs):
		p.resumed = false
		err = errors.Join(err, p.wire.reclaim(ctx, p.site, Position{}))
	case errors.Is(err, errNoRoom):
		err = errors.Join(err, p.makeRoom(ctx))
	}
	return err
}

// publishReports publishes one delta of what does not wait. What is reported
// meanwhile comes with the next ones, after a pause.
func (p *publisher) publishReports(ctx context.Context) error {
	p.reported = true
	d, found, err := p.publishNext(ctx, false)
	switch {
	case err != nil:
		return err
	case !found:
		p.schedule.reportsDone()
	case !d.More:
		p.schedule.reportsAgain(time.Now())
	}
	return nil
}

// publishCounts publishes one delta, of whatever waits.
func (p *publisher) publishCounts(ctx context.Context) error {
	d, _, err := p.publishNext(ctx, true)
	if err != nil {
		return err
	}
	p.counted += len(d.Data)
	if !d.More {
		p.schedule.countsDone(time.Now(), p.counted)
		p.counted = 0
	}
	return nil
}

// publishNext publishes one delta, if it finds one.
func (p *publisher) publishNext(ctx context.Context, all bool) (d bloomdb.Delta, found bool, err error) {
	d, found, err = p.db.NextDelta(all)
	if err != nil {
		return d, false, fmt.Errorf("next delta: %w", err)
	}
	if !found {
		return d, false, nil
	}
	return d, true, p.send(ctx, d)
}

func (p *publisher) send(ctx context.Context, d bloomdb.Delta) error {
	p.sent = Position{d.Epoch, d.Seq}
	if err := p.wire.publish(ctx, d, p.tail, p.o.StreamLength); err != nil {
		return err
	}
	p.spoke.Store(time.Now().UnixNano())
	p.tail = p.sent
	if err := p.db.Published(d); err != nil {
		return fmt.Errorf("delta %v: %w", p.sent, err)
	}
	if len(d.Data) > maxNews {
		p.schedule.beat = time.Time{} // the news did not carry it: say that it is there
	}
	p.snapshot.deltas++
	p.snapshot.since += int64(len(d.Data))
	p.metrics.published.Inc()
	p.metrics.publishedBytes.Add(float64(len(d.Data)))
	return nil
}

// beat announces where we stand. Before that it brings the votes up to date, and
// begins a snapshot where one is due.
func (p *publisher) beat(ctx context.Context) error {
	p.reported = false
	if err := p.publishVotes(ctx); err != nil {
		return err
	}
	if p.writing == nil && p.snapshotDue(time.Now()) {
		p.beginSnapshot()
	}
	err := p.wire.heartbeat(ctx, p.site, p.heartbeat(p.snapshot.seq), p.tail, p.snapshot.place)
	if errors.Is(err, errSnapshotLost) {
		p.snapshot = publishedSnapshot{}
		p.setSnapshot(nil)
		return nil // the next beat begins another one, and is due already
	}
	if err != nil {
		return err
	}
	now := time.Now()
	p.spoke.Store(now.UnixNano())
	p.schedule.beat = now.Add(p.o.Heartbeat)
	return nil
}

func (p *publisher) heartbeat(snapshot uint64) []byte {
	return p.db.Heartbeat(snapshot, p.votes, p.missed()...)
}
