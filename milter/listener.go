package milter

import (
	"errors"
	"net"
	"time"

	gomilter "github.com/emersion/go-milter"
)

// listener wraps a net.Listener for the library, whose Serve gives up at any error of
// Accept, even a temporary one (too many open files).
type listener struct {
	net.Listener
	name   string
	server *Server
	// accepted is the session of the connection that Accept returned last. The library
	// calls Accept and NewMilter alternately from one goroutine, so the two always match.
	accepted *session
}

func (l *listener) Accept() (net.Conn, error) {
	const shortest, longest = 5 * time.Millisecond, time.Second
	for pause := shortest; ; {
		nc, err := l.Listener.Accept()
		switch {
		case err == nil:
			pause = shortest
			if c := l.server.admit(l.name, nc); c != nil {
				l.accepted = c.session
				return c, nil
			}
		case errors.Is(err, net.ErrClosed):
			return nil, err
		default:
			if l.server.acceptFailed.Allow() {
				l.server.options.Load().Log.Error("accept failed, trying again", "listen", l.Addr().String(), "error", err)
			}
			if !l.server.door.Pause(pause) {
				return nil, net.ErrClosed
			}
			pause = min(2*pause, longest)
		}
	}
}

// newMilter is called only after Accept, because all responses of a session are sticky.
func (l *listener) newMilter() gomilter.Milter { return l.accepted }
