package publisher

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
)

// spoiltLog is a log with a stream that another client also writes to, so that some heartbeats
// find another end.
type spoiltLog struct {
	floodedLog
	every   int // heartbeats; 0: never
	commits int
	moved   int

	manifestNow []byte
	destroys    bool // also destroys the manifest
}

func (l *spoiltLog) Manifest(context.Context, string) ([]byte, error) { return l.manifestNow, nil }

func (l *spoiltLog) Heartbeat(context.Context, string, []byte, streams.Position, *streams.Place) error {
	l.heartbeats++
	if l.every > 0 && l.heartbeats%l.every == 0 {
		if l.destroys {
			l.manifestNow = nil
		}
		return streams.ErrMoved
	}
	return nil
}

func (l *spoiltLog) Tail(context.Context, string) (streams.End, error) {
	if l.heartbeats == 0 {
		return streams.End{}, nil
	}
	return streams.End{At: streams.At(1<<63, 1), Record: []byte("x")}, nil
}

func (l *spoiltLog) Reclaim(context.Context, string, streams.Position) error {
	l.moved++
	return nil
}

func (l *spoiltLog) Commit(_ context.Context, c streams.Commit) error {
	l.manifestNow = c.Manifest
	l.commits++
	return nil
}

// Neither requests for snapshots nor a damaged stream make a site publish all its data
// continuously. After the first ones, snapshots are published only every ten minutes.
func TestSnapshotsOnDemandAreFew(t *testing.T) {
	for _, tc := range []struct {
		name        string
		every       int
		asks        bool
		destroys    bool
		least, most int // snapshots in an hour
	}{
		{"no requests", 0, false, false, 1, 1},
		{"constant requests", 0, true, false, 6, 8},
		{"the stream is spoilt every ten seconds", 5, false, false, 1, 3},
		{"the snapshot, too", 5, false, true, 10, 18},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := openSite(t, dir)
				bloomdbtest.Report(t, db, 0)
				log := &spoiltLog{every: tc.every, destroys: tc.destroys}
				log.room, log.happens = 1<<20, func(int) {}
				wanted := never
				if tc.asks {
					wanted = func() time.Time { return time.Now().Truncate(time.Second) }
				}
				p := newPublisher(db, log, wanted)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				p.Run(ctx)
				t.Logf("%d snapshots in an hour", log.commits)
				if log.commits < tc.least || log.commits > tc.most {
					t.Errorf("%d snapshots in an hour, want %d to %d", log.commits, tc.least, tc.most)
				}
				if tc.every > 0 && (log.moved < 300 || moved(p) != int64(log.moved)) {
					t.Errorf("the stream was moved aside %d times", log.moved)
				}
				if log.heartbeats < 1500 {
					t.Errorf("%d heartbeats", log.heartbeats)
				}
			})
		})
	}
}

// moved returns the number of times that the stream was moved aside.
func moved(p *Publisher) int64 {
	_, aside := p.Status()
	return aside.times()
}

// The daemon was restarted while the clock was ahead, and the clock was set right after that: the
// snapshot in Redis is from the future, and another one is published when it is requested.
func TestRequestAfterSnapshotOfTheFuture(t *testing.T) {
	now := time.Now()
	for _, wanted := range []bool{true, false} {
		p := &Publisher{requests: Requests{Wanted: func() (at time.Time) {
			if wanted {
				at = now
			}
			return at
		}}}
		if got := p.isWanted(now.Add(25*time.Hour), now); got != wanted {
			t.Errorf("requested: %v, published: %v", wanted, got)
		}
	}
}
