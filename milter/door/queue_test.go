package door_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/milter/door"
)

// queued is a connection of a client in the model: it has a place or waits.
type queued struct {
	client   string
	conn     *door.Conn
	isPlaced bool
}

// mayHave reports how many places a client may have, as stated: half of what others leave.
func mayHave(of, perClient, others int) int { return min(perClient, max(1, (of-others)/2)) }

// At any moment each connection that waits has no room, those of one client get their places in the
// order in which they came, and no more wait than may.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, l := door.New(), door.Limits{Connections: 8, PerClient: 4, Waiting: 12}
		var all []*queued
		count := func(client string, isPlaced bool) (own, others int) {
			for _, q := range all {
				if q.isPlaced == isPlaced && q.client == client {
					own++
				} else if q.isPlaced == isPlaced {
					others++
				}
			}
			return own, others
		}
		hasRoom := func(client string) bool {
			own, others := count(client, true)
			return own+others < l.Connections && own < mayHave(l.Connections, l.PerClient, others)
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(all) > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				all[i].conn.Release()
				all = slices.Delete(all, i, i+1)
				for _, q := range all {
					if !q.isPlaced && hasRoom(q.client) {
						q.isPlaced = true
					}
				}
			} else {
				client := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client")
				room := hasRoom(client)
				own, others := count(client, false)
				c, refused := d.Admit(remoteConn{}, client, l)
				if (c != nil) != room || (refused == nil) != room {
					t.Fatalf("%s: admitted %v, want %v", client, c != nil, room)
				}
				if c == nil {
					c = d.Queue(remoteConn{}, client)
				}
				if (c != nil) != (room || own < (l.Waiting-others)/2) {
					t.Fatalf("%s: %d of it and %d others wait: registered %v", client, own, others, c != nil)
				}
				if c != nil {
					all = append(all, &queued{client, c, room})
				}
			}
			waiting := 0
			for i, q := range all {
				if q.isPlaced && !q.conn.Wait(t.Context()) {
					t.Fatalf("connection %d of %s has no place", i, q.client)
				}
				if !q.isPlaced {
					waiting++
				}
			}
			if d.Waiting() != waiting || d.Connections() != len(all)-waiting {
				t.Fatalf("%d wait and %d have a place, want %d and %d", d.Waiting(), d.Connections(), waiting, len(all)-waiting)
			}
		}
	})
}

// A wait ends with its context, and at Shutdown, which waits for it. A connection that gave up its
// wait gets no place.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := door.New(), door.Limits{Connections: 1, Waiting: 8}
		holder, _ := d.Admit(remoteConn{}, "a", l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first, second, third := d.Queue(remoteConn{}, "a"), d.Queue(remoteConn{}, "a"), d.Queue(remoteConn{}, "a")
		if first.Wait(ctx) {
			t.Error("a place while it is taken")
		}
		first.Release()
		holder.Release()
		if !second.Wait(t.Context()) {
			t.Error("no place after a release")
		}
		go func() { third.Wait(context.Background()); third.Release(); second.Release() }()
		synctest.Wait()
		if err := d.Shutdown(t.Context(), time.Hour); err != nil {
			t.Error(err)
		}
		if d.Queue(remoteConn{}, "a") != nil || d.Waiting() != 0 {
			t.Error("a connection waits after Shutdown")
		}
	})
}
