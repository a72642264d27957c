package linkfault

import (
	"net"
	"sync"
	"time"
)

// pair is a client's connection and the one to the server that belongs to it.
type pair struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once

	deaf bool  // under Proxy.mu: the server's side is gone, the client is not told
	left int64 // under Proxy.mu: bytes from the server until the cut, 0: no cut
}

// end resets both sides.
func (c *pair) end() {
	c.once.Do(func() {
		close(c.ended)
		abort(c.client)
		abort(c.server)
	})
}

// abort closes a connection; TCP tells the other end by a reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may have ended by itself
	}
	c.Close()
}

// chunk is what was read at a time.
type chunk struct {
	data []byte
	at   time.Time
}

// direction is one of the two ways through a pair.
type direction struct {
	*Proxy
	*pair
	from, to net.Conn
	down     bool // from the server
	chunks   chan chunk
}

// read queues what comes, so that a delay does not slow the stream down.
func (d *direction) read() {
	defer close(d.chunks)
	for {
		buf := make([]byte, 16<<10)
		n, err := d.from.Read(buf)
		if n > 0 {
			select {
			case d.chunks <- chunk{buf[:n], time.Now()}:
			case <-d.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// write passes on what was queued, when its time has come.
func (d *direction) write() {
	for c := range d.chunks {
		if !d.hold(c) {
			break
		}
		data, last := d.cut(c.data)
		if d.isDeaf() {
			continue // swallowed
		}
		if _, err := d.to.Write(data); err != nil || last {
			break
		}
	}
	if d.isDeaf() && d.down {
		return // the client goes on, to nobody
	}
	d.Proxy.mu.Lock()
	delete(d.pairs, d.pair)
	d.Proxy.mu.Unlock()
	d.end()
}

// hold waits until a chunk may pass; false: the connection has ended meanwhile.
func (d *direction) hold(c chunk) bool {
	for {
		d.mu.Lock()
		f, changed := d.fault, d.changed
		d.mu.Unlock()
		stalled := f.Stall || f.StallDown && d.down
		wait := time.Until(c.at.Add(f.Delay))
		if !stalled && wait <= 0 {
			return true
		}
		var due <-chan time.Time // never, while it is stalled
		if !stalled {
			due = time.After(wait)
		}
		select {
		case <-d.ended:
			return false
		case <-changed:
		case <-due:
			return true
		}
	}
}

// cut counts the bytes and shortens those with which the connection is to end.
func (d *direction) cut(data []byte) (rest []byte, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.down {
		d.up += int64(len(data))
		return data, false
	}
	d.Proxy.down += int64(len(data))
	if d.left <= 0 {
		return data, false
	}
	if int64(len(data)) >= d.left {
		return data[:d.left], true
	}
	d.left -= int64(len(data))
	return data, false
}

func (d *direction) isDeaf() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deaf
}
