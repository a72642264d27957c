package linkfault

import (
	"net"
	"sync"
	"time"
)

// pair is a client's connection with its connection to the server.
type pair struct {
	client, server net.Conn
	ended          chan struct{}
	once           sync.Once

	deaf bool  // under Proxy.mu: the server's side is closed, but the client is not notified
	left int64 // under Proxy.mu: bytes from the server until the cut; 0: no cut
}

// end resets both sides.
func (c *pair) end() {
	c.once.Do(func() {
		close(c.ended)
		abort(c.client)
		abort(c.server)
	})
}

// abort closes a connection with a reset.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the connection may already be closed
	}
	c.Close()
}

// chunk is the data of one read.
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

// read queues incoming data, so that a delay does not reduce the throughput.
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

// write forwards the queued data when it is due.
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
		return // the client continues, without a server
	}
	d.Proxy.mu.Lock()
	delete(d.pairs, d.pair)
	d.Proxy.mu.Unlock()
	d.end()
}

// hold waits until a chunk may pass. It returns false if the connection ends first.
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
		var due <-chan time.Time // never, while stalled
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

// cut counts the bytes and truncates the data after which the connection ends.
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
