package exchange

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// floodedLog accepts deltas, and while it does so, further data arrives.
type floodedLog struct {
	transport
	happens            func(n int)
	deltas, heartbeats int
	room, cleared      int // chunks it still accepts; how often a slot was emptied
}

func (l *floodedLog) tail(context.Context, string) (streamEnd, error)  { return streamEnd{}, nil }
func (l *floodedLog) head(context.Context, string) ([]byte, error)     { return nil, nil }
func (l *floodedLog) manifest(context.Context, string) ([]byte, error) { return nil, nil }
func (l *floodedLog) writeVotes(context.Context, string, []byte) error { return nil }
func (l *floodedLog) commit(context.Context, commit) error             { return nil }

func (l *floodedLog) clearSlot(context.Context, string, byte) error {
	l.cleared++
	return nil
}

func (l *floodedLog) writeChunk(context.Context, string, byte, int, []byte) error {
	if l.room--; l.room < 0 {
		return errNoRoom
	}
	return nil
}

func (l *floodedLog) publish(context.Context, wire.Delta, Position, int64) error {
	l.deltas++
	l.happens(l.deltas)
	time.Sleep(time.Millisecond)
	return nil
}

func (l *floodedLog) heartbeat(context.Context, string, []byte, Position, *place) error {
	l.heartbeats++
	return nil
}

// Data that arrives while a delta is published waits for the next time. Otherwise a site
// with much traffic would publish without end, a few cells at a time.
func TestFlood(t *testing.T) {
	for _, test := range []struct {
		name    string
		happens func(*site, int)
		most    int // deltas in 10 s
	}{
		{"counts", func(s *site, n int) { s.count(mail("count %d", n), 1) }, 11},
		{"reports", func(s *site, n int) { s.report(mail("report %d", n)) }, 50 + 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := openDB(t, siteOptions(dir, "a"))
				s := &site{t: t, db: db}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				log := &floodedLog{room: 1000}
				log.happens = func(n int) {
					if n > 500 {
						cancel()
					}
					test.happens(s, n)
				}
				test.happens(s, 0)
				newExchange(db, log, Options{}).publish(ctx)
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
	db := openDB(t, siteOptions(t.TempDir(), "a"))
	s := &site{t: t, db: db}
	log := &floodedLog{happens: func(n int) { s.report(mail("report %d", n)) }}
	p := newPublisher(newExchange(db, log, Options{}))
	for range 10 {
		s.report(mail("first"))
		p.schedule.reports, p.schedule.beat = time.Now(), time.Now() // both are due
		if err := p.take(t.Context(), p.next(time.Now())); err != nil {
			t.Fatal(err)
		}
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
		db := openDB(t, siteOptions(dir, "a"))
		(&site{t: t, db: db}).report(mail("x"))
		log := &floodedLog{happens: func(int) {}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*noRoomPause)
		defer cancel()
		newExchange(db, log, Options{}).publish(ctx)
		if log.cleared < 6 || log.cleared > 10 || log.room < -5 {
			t.Errorf("emptied %d times, %d chunks refused; want three or four tries", log.cleared, -log.room)
		}
		if log.heartbeats < 500 {
			t.Errorf("only %d heartbeats", log.heartbeats)
		}
	})
}
