package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/spambloom/spambloom/cmd/internal/socket"
)

// sockets are all addresses that the daemon listens on. They are bound before
// anything runs, so that an address in use is an error of the start.
type sockets struct {
	milter  []listener
	control net.Listener
	remote  net.Listener // nil: none
	http    net.Listener // nil: none
}

// listener is a place where MTAs connect. Its name is the address as it is
// configured, or systemd's name of the socket: policies and rules go by it.
type listener struct {
	name string
	net.Listener
}

// listen binds the addresses of the settings. Sockets that systemd hands over
// (FileDescriptorName= control, remote, http, or anything else for the milter) take
// the place of the settings' own.
func listen(s *settings, log *slog.Logger) (_ *sockets, err error) {
	l := new(sockets)
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := l.adoptAll(activation.Files(true)); err != nil {
		return nil, &failure{exConfig, fmt.Errorf("sockets from systemd: %w", err)}
	}
	if len(l.milter) == 0 {
		for _, spec := range s.Milter.Listen {
			ln, err := bind(s, log, "milter.listen", spec)
			if err != nil {
				return nil, err
			}
			l.milter = append(l.milter, listener{spec, ln})
		}
	}
	if err := s.checkListeners(l.names()); err != nil { // of sockets that were handed over only now
		return nil, &failure{exConfig, err}
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

// checkAddresses finds an address that stands there twice. The second listener would
// find it in use, "by another process". Where systemd hands over sockets, what is
// configured is mostly not used: then it is not asked.
func (s *settings) checkAddresses() error {
	var errs []error
	seen := make(map[string]string)
	check := func(key, spec string) {
		network, address, err := socket.Parse(spec)
		if err != nil || strings.HasSuffix(address, ":0") {
			return // said elsewhere; any free port
		}
		if first, twice := seen[network+address]; twice {
			errs = append(errs, fmt.Errorf("%s: %q is an address of %s already", s.Where(key), spec, first))
			return
		}
		seen[network+address] = key
	}
	for _, spec := range s.Milter.Listen {
		check("milter.listen", spec)
	}
	for _, a := range []struct{ key, spec string }{
		{"control.listen", s.Control.Listen}, {"control.remote", s.Control.Remote}, {"http.listen", s.HTTP.Listen},
	} {
		check(a.key, a.spec)
	}
	return errors.Join(errs...)
}

// bind listens on one address. It warns of a unix socket that the group it is
// given to cannot get to.
func bind(s *settings, log *slog.Logger, key, spec string) (net.Listener, error) {
	// Owner and group; the folder of the socket may be stricter.
	mode, group, groupKey := fs.FileMode(0o660), s.Control.Group, "control.group"
	if key == "milter.listen" {
		mode = s.Milter.SocketMode
		if s.Milter.Group != "" {
			group, groupKey = s.Milter.Group, "milter.group"
		}
	}
	ln, err := socket.Listen(spec, mode, group)
	if err != nil {
		return nil, &failure{exCantCreate, fmt.Errorf("%s: %w", s.Where(key), err)}
	}
	if group != "" && ln.Addr().Network() == "unix" {
		if err := socket.CheckWay(ln.Addr().String(), group); err != nil {
			log.Warn("the group of "+groupKey+" cannot get to this socket: put it elsewhere, such as into /run/spambloom",
				"key", key, "listen", spec, "error", err)
		}
	}
	return ln, nil
}

// names are those by which policies and rules know the milter's.
func (l *sockets) names() (names []string) {
	for _, ln := range l.milter {
		names = append(names, ln.name)
	}
	return names
}

// adoptAll takes the sockets from systemd, and closes its descriptors of them.
func (l *sockets) adoptAll(files []*os.File) (err error) {
	for _, f := range files {
		ln, listenErr := net.FileListener(f) // has a descriptor of its own
		f.Close()
		if listenErr != nil {
			err = errors.Join(err, fmt.Errorf("%q is not a listening stream socket: %w", f.Name(), listenErr))
			continue
		}
		if adoptErr := l.adopt(f.Name(), ln); adoptErr != nil {
			ln.Close()
			err = errors.Join(err, adoptErr)
		}
	}
	return err
}

// adopt finds the place of a socket. Of the control socket and its like there is
// one: a second one must not speak milter.
func (l *sockets) adopt(name string, ln net.Listener) error {
	var place *net.Listener
	switch name {
	case "control":
		place = &l.control
	case "remote":
		place = &l.remote
	case "http":
		place = &l.http
	default:
		l.milter = append(l.milter, listener{name, ln})
		return nil
	}
	if *place != nil {
		return fmt.Errorf("two are named %q, there can be one", name)
	}
	*place = ln
	return nil
}

// close is for a start that fails; later the servers close what they serve, and
// a second close does nothing.
func (l *sockets) close() {
	for _, ln := range l.milter {
		ln.Close()
	}
	for _, ln := range []net.Listener{l.control, l.remote, l.http} {
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
