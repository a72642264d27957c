package main

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/spambloom/spambloom/cmd/internal/socket"
)

// sockets are all addresses that the daemon listens on. They are bound before
// anything runs, so that an address in use is an error of the start.
type sockets struct {
	milter  []net.Listener
	control net.Listener
	remote  net.Listener // nil: none
	http    net.Listener // nil: none
}

// socketMode lets the owner and the group in. The state folder or the folder of
// the socket may be stricter.
const socketMode = 0o660

// listen binds the addresses of the settings. Sockets that systemd hands over
// (FileDescriptorName= control, remote, http, or anything else for the milter) take
// the place of the settings' own.
func listen(s *settings, log *slog.Logger) (_ *sockets, err error) {
	handed, err := activation.ListenersWithNames()
	if err != nil {
		return nil, &failure{exCantCreate, fmt.Errorf("sockets from systemd: %w", err)}
	}
	l := new(sockets)
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	for name, lns := range handed {
		l.adopt(name, lns)
	}
	if len(l.milter) == 0 {
		for _, spec := range s.Milter.Listen {
			ln, err := bind(s, log, "milter.listen", spec)
			if err != nil {
				return nil, err
			}
			l.milter = append(l.milter, ln)
		}
	}
	if l.control == nil {
		if l.control, err = bind(s, log, "control.listen", s.Control.Listen); err != nil {
			return nil, err
		}
	}
	if l.remote == nil && s.Control.Remote != "" {
		if l.remote, err = bind(s, log, "control.remote", s.Control.Remote); err != nil {
			return nil, err
		}
	}
	if l.remote != nil && s.Control.Remote == "" {
		// Of whom to let in nothing was checked.
		return nil, &failure{exConfig, fmt.Errorf("%s: is empty, but systemd hands over a socket named remote", s.Where("control.remote"))}
	}
	if l.http == nil && s.HTTP.Listen != "" {
		if l.http, err = bind(s, log, "http.listen", s.HTTP.Listen); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// bind listens on one address. It warns of a unix socket that the group it is
// given to cannot get to.
func bind(s *settings, log *slog.Logger, key, spec string) (net.Listener, error) {
	ln, err := socket.Listen(spec, socketMode, s.Control.Group)
	if err != nil {
		return nil, &failure{exCantCreate, fmt.Errorf("%s: %w", s.Where(key), err)}
	}
	if s.Control.Group != "" && ln.Addr().Network() == "unix" {
		if err := socket.CheckWay(ln.Addr().String(), s.Control.Group); err != nil {
			log.Warn("the group of control.group cannot get to this socket: put it elsewhere, such as into /run/spambloom",
				"key", key, "listen", spec, "error", err)
		}
	}
	return ln, nil
}

// adopt takes sockets from systemd. What it hands over as something else than a
// stream socket is nil.
func (l *sockets) adopt(name string, lns []net.Listener) {
	for _, ln := range lns {
		switch {
		case ln == nil:
		case name == "control" && l.control == nil:
			l.control = ln
		case name == "remote" && l.remote == nil:
			l.remote = ln
		case name == "http" && l.http == nil:
			l.http = ln
		default:
			l.milter = append(l.milter, ln)
		}
	}
}

// close is for a start that fails; later the servers close what they serve, and
// a second close does nothing.
func (l *sockets) close() {
	for _, ln := range append(l.milter, l.control, l.remote, l.http) {
		if ln != nil {
			ln.Close()
		}
	}
}

// attrs are the addresses as the log shows them.
func (l *sockets) attrs() []any {
	var milters []string
	for _, ln := range l.milter {
		milters = append(milters, ln.Addr().String())
	}
	attrs := []any{"milter", milters, "control", l.control.Addr().String()}
	if l.remote != nil {
		attrs = append(attrs, "remote", l.remote.Addr().String())
	}
	if l.http != nil {
		attrs = append(attrs, "http", l.http.Addr().String())
	}
	return attrs
}
