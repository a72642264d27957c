package exchange

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// spoiltLog is a log whose stream another client writes to, so that some heartbeats find
// another end.
type spoiltLog struct {
	floodedLog
	every   int // heartbeats; 0: never
	commits int
	moved   int

	manifestNow []byte
	destroys    bool // also destroys the manifest
}

func (l *spoiltLog) manifest(context.Context, string) ([]byte, error) { return l.manifestNow, nil }

func (l *spoiltLog) heartbeat(ctx context.Context, site string, record []byte, tail Position, p *place) error {
	l.heartbeats++
	if l.every > 0 && l.heartbeats%l.every == 0 {
		if l.destroys {
			l.manifestNow = nil
		}
		return errMoved
	}
	return nil
}

func (l *spoiltLog) tail(context.Context, string) (streamEnd, error) {
	if l.heartbeats == 0 {
		return streamEnd{}, nil
	}
	return streamEnd{at: Position{1 << 63, 1}, record: []byte("x")}, nil
}

func (l *spoiltLog) reclaim(context.Context, string, Position) error {
	l.moved++
	return nil
}

func (l *spoiltLog) commit(_ context.Context, c commit) error {
	l.manifestNow = c.manifest
	l.commits++
	return nil
}

// Neither requests for snapshots nor a spoilt stream make a site publish all its data all
// the time: soon snapshots come only every ten minutes.
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
				db := openDB(t, siteOptions(dir, "a"))
				(&site{t: t, db: db}).report(mail("x"))
				log := &spoiltLog{every: tc.every, destroys: tc.destroys}
				log.room, log.happens = 1<<20, func(int) {}
				x := newExchange(db, log, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var asking sync.WaitGroup
				asking.Go(func() {
					for tc.asks && sleep(ctx, time.Second) {
						x.wanted.Store(time.Now().UnixNano())
					}
				})
				x.publish(ctx)
				asking.Wait()
				t.Logf("%d snapshots in an hour", log.commits)
				if log.commits < tc.least || log.commits > tc.most {
					t.Errorf("%d snapshots in an hour, want %d to %d", log.commits, tc.least, tc.most)
				}
				if tc.every > 0 && (log.moved < 300 || x.Status().MovedAside.times() != int64(log.moved)) {
					t.Errorf("the stream was moved aside %d times", log.moved)
				}
				if log.heartbeats < 1500 {
					t.Errorf("%d heartbeats", log.heartbeats)
				}
			})
		})
	}
}
