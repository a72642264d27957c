package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// nameTakenWait is how long a site stops publishing if another site uses its name.
// Otherwise both would publish all their data again and again.
const nameTakenWait = time.Minute

// errNameTaken means that another daemon writes our stream.
var errNameTaken = errors.New("another daemon publishes under this site's name: give each its own [site] name; reports made here are kept and retried in a minute")

// Publisher publishes this site's data. Run is called once. The other exported methods are
// safe for concurrent use at any time.
type Publisher struct {
	db       *bloomdb.DB
	site     string // this site's name
	streams  streams.Transport
	link     *link.Link
	requests Requests
	o        Options
	log      *slog.Logger
	metrics  *metrics
	logLimit link.Limiter // limits repeated log lines

	// newerOwn is a heartbeat of this site with a position newer than its folder.
	newerOwn atomic.Pointer[wire.Head]

	mu    sync.Mutex        // guards shown and moved, the data of Status
	shown *streams.Position // position of our snapshot in Redis; nil: none
	moved *Foreign          // nil: never moved aside

	// Everything below is used by Run only.
	schedule schedule
	resumed  bool             // this site and the database know tail
	started  bool             // resumed at least once
	tail     streams.Position // end of our stream

	began time.Time        // start, by the clock that stamps records
	taken time.Time        // when another daemon of this name made its latest known record
	sent  streams.Position // the last delta we tried to publish
	// sentRecord is that delta. Another daemon of this name may use its number.
	sentRecord []byte
	counted    int  // bytes published since counts were due
	reported   bool // the last step published reports

	snapshot    publishedSnapshot
	writing     *snapshotWriting // nil: none
	noRoom      time.Time        // no snapshot is begun before this time
	begun       time.Time        // when the last snapshot was begun
	consecutive int              // snapshots begun shortly after one another
	notBefore   time.Time        // no further snapshot is begun before this time
	votes       uint64           // stamp of the votes in Redis; 0: none of this epoch
	votesAt     time.Time
}

// Requests are what sites request from each other in their heartbeats.
type Requests struct {
	Missing func() []string  // sites of which data is missing here
	Wanted  func() time.Time // when another site last requested this site's data; zero: never
}

// New returns a publisher for a database opened with Options.Exchange.
func New(db *bloomdb.DB, t streams.Transport, l *link.Link, r Requests, o Options) *Publisher {
	o = o.WithDefaults()
	return &Publisher{
		db: db, site: db.Site(), streams: t, link: l, requests: r, o: o, log: o.Log,
		metrics: newMetrics(), schedule: schedule{least: o.Interval, most: o.MaxInterval},
	}
}

// Run publishes this site's deltas in its stream, its snapshots and votes, and its head in
// the news. It returns when ctx ends. Faults of Redis are retried.
func (p *Publisher) Run(ctx context.Context) {
	p.began = p.db.Now()
	var wait link.Backoff
	for ctx.Err() == nil {
		p.checkReports()
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
			p.link.Succeeded(link.Publish)
			wait.Succeeded()
			continue
		}
		p.link.Failed(link.Publish, err)
		after := wait.Next()
		if errors.Is(err, errNameTaken) {
			p.log.Error("publishing stopped: another site uses this name", "error", err)
			after = nameTakenWait
		}
		link.Sleep(ctx, after)
	}
}

// Overtaken records a heartbeat of this site that is newer than its folder. Other sites
// repeat it if they hold a newer epoch. The next step looks for the newest one and begins
// the epoch after it.
func (p *Publisher) Overtaken(h wire.Head) { p.newerOwn.Store(&h) }

// next returns the next step, or nil if none is due. Reports go first, but a heartbeat does
// not wait for the end of many reports: it announces the deltas that the news does not
// carry. A snapshot is written when nothing else is due.
func (p *Publisher) next(now time.Time) func(context.Context) error {
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

// rest waits until a step is due.
func (p *Publisher) rest(ctx context.Context) {
	t := time.NewTimer(time.Until(p.schedule.earliest()))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-p.db.Changed():
		p.schedule.reported(time.Now())
	case <-t.C:
	}
}

// checkReports checks for new reports without waiting.
func (p *Publisher) checkReports() {
	select {
	case <-p.db.Changed():
		p.schedule.reported(time.Now())
	default:
	}
}

// take does one step. A failed step is repeated: the database returns the same delta until
// its publication is recorded, and the stream accepts none twice.
func (p *Publisher) take(ctx context.Context, step func(context.Context) error) error {
	if p.newerOwn.Load() != nil {
		p.resumed = false
	}
	if !p.resumed {
		if err := p.resume(ctx); err != nil {
			return p.overcome(ctx, err)
		}
		step = p.beat // only sites with a heartbeat are read
	}
	return p.overcome(ctx, step(ctx))
}

// overcome handles failures with an immediate remedy.
func (p *Publisher) overcome(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, streams.ErrMoved):
		p.resumed = false
	case errors.Is(err, streams.ErrNotOurs):
		p.resumed = false
		err = errors.Join(err, p.streams.Reclaim(ctx, p.site, streams.Position{}))
	case errors.Is(err, streams.ErrNoRoom):
		err = errors.Join(err, p.makeRoom(ctx))
	}
	return err
}

// publishReports publishes one delta of urgent changes. Reports made meanwhile follow with
// the next ones, after a pause.
func (p *Publisher) publishReports(ctx context.Context) error {
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

// publishCounts publishes one delta of all waiting changes.
func (p *Publisher) publishCounts(ctx context.Context) error {
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

// publishNext publishes one delta, if there is one.
func (p *Publisher) publishNext(ctx context.Context, all bool) (d wire.Delta, found bool, err error) {
	d, found, err = p.db.NextDelta(all)
	if err != nil {
		return d, false, fmt.Errorf("next delta: %w", err)
	}
	if !found {
		return d, false, nil
	}
	return d, true, p.send(ctx, d)
}

func (p *Publisher) send(ctx context.Context, d wire.Delta) error {
	p.sent, p.sentRecord = streams.At(d.Epoch, d.Seq), d.Data
	if err := p.streams.Publish(ctx, d, p.tail, p.o.StreamLength); err != nil {
		return err
	}
	p.link.Published()
	p.tail = p.sent
	if err := p.db.Published(d); err != nil {
		return fmt.Errorf("delta %v: %w", p.sent, err)
	}
	if len(d.Data) > streams.MaxNews {
		p.schedule.beat = time.Time{} // the news did not carry it: announce it
	}
	p.snapshot.deltas++
	p.snapshot.since += int64(len(d.Data))
	p.metrics.published.Inc()
	p.metrics.publishedBytes.Add(float64(len(d.Data)))
	return nil
}

// beat announces our position. Before that it updates the votes, and begins a snapshot if
// one is due.
func (p *Publisher) beat(ctx context.Context) error {
	p.reported = false
	if err := p.publishVotes(ctx); err != nil {
		return err
	}
	if p.writing == nil && p.isSnapshotDue(time.Now()) {
		p.beginSnapshot()
	}
	err := p.streams.Heartbeat(ctx, p.site, p.heartbeat(p.snapshot.seq), p.tail, p.snapshot.place)
	if errors.Is(err, streams.ErrSnapshotLost) {
		p.snapshot = publishedSnapshot{}
		p.setShown(nil)
		return nil // the next beat, already due, begins another one
	}
	if err != nil {
		return err
	}
	p.link.Published()
	p.schedule.beat = time.Now().Add(p.o.Heartbeat)
	return nil
}

func (p *Publisher) heartbeat(snapshot uint64) []byte {
	return p.db.Heartbeat(snapshot, p.votes, p.requests.Missing()...)
}
