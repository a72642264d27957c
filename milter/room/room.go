// Package room books what the messages in flight take of a resource that all share: memory, or
// temporary files. It books for all together and for each client, so that no client takes all.
//
// It frees nothing, and knows neither messages nor connections.
//
//	Clients.Enter -> Room.Take, TakeAnyway -> Room.Return -> Clients.Leave
package room

import (
	"sync"
	"sync/atomic"
)

// Room is a resource. The zero value is free. Its methods are safe for concurrent use.
type Room struct{ taken atomic.Int64 }

// Part is what one client has of a Room. Unit: bytes.
type Part struct{ taken atomic.Int64 }

// Limits bound a Room. Unit: bytes.
type Limits struct {
	All  int64 // of all clients
	Each int64 // each client may take so much, if All has it
}

// Take books n bytes. It returns false, and books nothing, if they exceed the limits. A client may
// take three quarters of what the others leave. So one client, and those who act with it, leave
// something for everybody else.
func (r *Room) Take(p *Part, n int64, l Limits) bool {
	all, own := r.taken.Add(n), p.taken.Add(n)
	if all <= l.All && (own <= l.Each || all+own/3 <= l.All) {
		return true
	}
	r.Return(p, n)
	return false
}

// TakeAnyway books n bytes beyond all limits.
func (r *Room) TakeAnyway(p *Part, n int64) {
	r.taken.Add(n)
	p.taken.Add(n)
}

// Return gives n bytes back.
func (r *Room) Return(p *Part, n int64) { r.TakeAnyway(p, -n) }

// Taken returns the bytes that all clients have.
func (r *Room) Taken() int64 { return r.taken.Load() }

// Client is who is counted as one. The zero value is a client of its own.
type Client struct {
	Memory, Disk Part
	name         string
	entered      int // under Clients.mu
}

// Clients are those that have connections. The zero value has none. Its methods are safe for
// concurrent use.
type Clients struct {
	mu sync.Mutex
	of map[string]*Client
}

// Enter returns the client of a name until Leave.
func (c *Clients) Enter(name string) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.of[name]
	if client == nil {
		client = &Client{name: name}
		if c.of == nil {
			c.of = map[string]*Client{}
		}
		c.of[name] = client
	}
	client.entered++
	return client
}

// Leave ends what Enter began; for a client that did not enter it does nothing. Messages that are
// still judged may return what they took.
func (c *Clients) Leave(client *Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client.entered--; client.entered == 0 {
		delete(c.of, client.name)
	}
}
