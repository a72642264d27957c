package publisher

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// openSite opens a database with the real time. Its folder is made before the test's bubble.
func openSite(t *testing.T, dir string) *bloomdb.DB {
	t.Helper()
	o := bloomdbtest.Options(dir, "a")
	o.Now = nil
	o.Reports.Capacity, o.Counts.Capacity = 10_000, 10_000
	return bloomdbtest.Open(t, o)
}

// newPublisher returns a publisher of a database. wanted returns the time of the last request
// for a snapshot.
func newPublisher(db *bloomdb.DB, t streams.Transport, wanted func() time.Time) *Publisher {
	r := Requests{Missing: func() []string { return nil }, Wanted: wanted}
	return New(db, t, link.New(slog.New(slog.DiscardHandler)), r, Options{})
}

func never() time.Time { return time.Time{} }

// floodedLog accepts deltas, and while it does so, further data arrives.
type floodedLog struct {
	streams.Transport
	happens            func(n int)
	deltas, heartbeats int
	room, cleared      int // chunks it still accepts; how often a slot was emptied
}

func (l *floodedLog) Tail(context.Context, string) (streams.End, error) { return streams.End{}, nil }
func (l *floodedLog) Head(context.Context, string) ([]byte, error)      { return nil, nil }
func (l *floodedLog) Manifest(context.Context, string) ([]byte, error)  { return nil, nil }
func (l *floodedLog) WriteVotes(context.Context, string, []byte) error  { return nil }
func (l *floodedLog) Commit(context.Context, streams.Commit) error      { return nil }

func (l *floodedLog) ClearSlot(context.Context, string, byte) error {
	l.cleared++
	return nil
}

func (l *floodedLog) WriteChunk(context.Context, string, byte, int, []byte) error {
	if l.room--; l.room < 0 {
		return streams.ErrNoRoom
	}
	return nil
}

func (l *floodedLog) Publish(context.Context, wire.Delta, streams.Position, int64) error {
	l.deltas++
	l.happens(l.deltas)
	time.Sleep(time.Millisecond)
	return nil
}

func (l *floodedLog) Heartbeat(context.Context, string, []byte, streams.Position, *streams.Place) error {
	l.heartbeats++
	return nil
}

// Data that arrives while a delta is published waits for the next time. Otherwise a site
// with much traffic would publish without end, a few cells at a time.
func TestFlood(t *testing.T) {
	for _, test := range []struct {
		name    string
		happens func(*testing.T, *bloomdb.DB, int)
		most    int // deltas in 10 s
	}{
		{"counts", func(t *testing.T, db *bloomdb.DB, n int) { bloomdbtest.Count(t, db, n, 1) }, 11},
		{"reports", func(t *testing.T, db *bloomdb.DB, n int) { bloomdbtest.Report(t, db, n) }, 50 + 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := openSite(t, dir)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				log := &floodedLog{room: 1000}
				log.happens = func(n int) {
					if n > 500 {
						cancel()
					}
					test.happens(t, db, n)
				}
				test.happens(t, db, 0)
				newPublisher(db, log, never).Run(ctx)
				if log.deltas > test.most || log.deltas < test.most/3 {
					t.Errorf("%d deltas in 10 s, should be up to %d", log.deltas, test.most)
				}
				if log.heartbeats < 5 {
					t.Errorf("%d heartbeats in 10 s, one is due every 2 s", log.heartbeats)
				}
			})
		})
	}
}

// When there are reports for many deltas, heartbeats are sent in between.
func TestHeartbeatAmongReports(t *testing.T) {
	db := openSite(t, t.TempDir())
	log := &floodedLog{happens: func(n int) { bloomdbtest.Report(t, db, n) }}
	p := newPublisher(db, log, never)
	for range 10 {
		bloomdbtest.Report(t, db, 0)
		p.schedule.reports, p.schedule.beat = time.Now(), time.Now() // both are due
		testenv.Check(t, p.take(t.Context(), p.next(time.Now())))
	}
	if log.deltas < 4 || log.heartbeats < 4 {
		t.Errorf("%d deltas and %d heartbeats in 10 steps", log.deltas, log.heartbeats)
	}
}

// A snapshot for which there is no memory is abandoned at once, and not retried for a
// while.
func TestSnapshotWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db := openSite(t, dir)
		bloomdbtest.Report(t, db, 0)
		log := &floodedLog{happens: func(int) {}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*noRoomPause)
		defer cancel()
		newPublisher(db, log, never).Run(ctx)
		if log.cleared < 6 || log.cleared > 10 || log.room < -5 {
			t.Errorf("emptied %d times, %d chunks refused; want three or four tries", log.cleared, -log.room)
		}
		if log.heartbeats < 500 {
			t.Errorf("only %d heartbeats", log.heartbeats)
		}
	})
}

// fullLog is a log without memory for deltas.
type fullLog struct{ floodedLog }

func (l *fullLog) Publish(context.Context, wire.Delta, streams.Position, int64) error {
	return streams.ErrNoRoom
}

// After Redis was full of other data, a snapshot is published within a minute. One that was too large
// itself is not tried again earlier because of that.
func TestSnapshotAfterRedisWasFull(t *testing.T) {
	for name, room := range map[string]int{"other data": 1 << 20, "the snapshot, too": 0} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			db := openSite(t, dir)
			bloomdbtest.Report(t, db, 0)
			log := &fullLog{floodedLog{happens: func(int) {}, room: room}}
			p := newPublisher(db, log, never)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if room == 0 {
				p.beginSnapshot()
				_ = p.makeRoom(ctx)
			}
			p.Run(ctx)
			if until := time.Until(p.noRoom); (until < time.Minute) != (room > 0) {
				t.Errorf("%s: no snapshot for %v", name, until)
			}
		})
	}
}
