package room_test

import (
	"testing"

	"github.com/spambloom/spambloom/milter/room"
)

// Clients that take whatever they can leave something for the next one, in whatever order they come.
func TestClientsLeaveRoom(t *testing.T) {
	var r room.Room
	var clients room.Clients
	limits := room.Limits{All: 320 << 20, Each: 1 << 20}
	fill := func(c *room.Client) (taken int64) {
		for r.Take(&c.Memory, 1<<16, limits) {
			taken += 1 << 16
		}
		return taken
	}
	a, b, c := clients.Enter("a"), clients.Enter("b"), clients.Enter("c")
	for i, test := range []struct {
		client *room.Client
		want   int64
	}{{a, 240 << 20}, {b, 60 << 20}, {c, 15 << 20}, {clients.Enter("a"), 0}} {
		if got := fill(test.client); got != test.want {
			t.Errorf("client %d takes %d bytes, want %d", i, got, test.want)
		}
	}
	if !r.Take(&new(room.Client).Memory, 1<<20, limits) {
		t.Error("a new client has no room for one message")
	}
	r.Return(&a.Memory, 240<<20)
	if got := fill(b); got <= 60<<20 {
		t.Errorf("with the room of another one, a client takes %d bytes more", got)
	}
}

// A client is known by its name for as long as somebody uses it, and its bytes are returned to the
// same room afterwards.
func TestClientLeaves(t *testing.T) {
	var r room.Room
	var clients room.Clients
	a := clients.Enter("a")
	if clients.Enter("a") != a {
		t.Error("a client that is there is another one")
	}
	clients.Leave(a)
	if clients.Enter("a") != a {
		t.Error("a client of which one use is left is another one")
	}
	r.TakeAnyway(&a.Disk, 100)
	clients.Leave(a)
	clients.Leave(a)
	if clients.Enter("a") == a {
		t.Error("a client that left is there")
	}
	r.Return(&a.Disk, 100)
	if n := r.Taken(); n != 0 {
		t.Errorf("%d bytes stay booked", n)
	}
}
