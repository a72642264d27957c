package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/spambloom/spambloom/cmd/internal/socket"
)

// sockets are all addresses that the daemon listens on. They are bound before anything
// runs, so that an address in use is an error of the start.
type sockets struct {
	milter  []listener
	spamd   []listener
	control net.Listener
	remote  net.Listener // nil: none
	http    net.Listener // nil: none
}

// listener accepts connections of MTAs and of spamd's clients. Its name, used in policies and rules, is the
// configured address or systemd's name of the socket.
type listener struct {
	name string
	net.Listener
}

// listen binds the addresses of the settings. Sockets passed by systemd
// (FileDescriptorName= spamd, control, remote, http, or any other name for the milter) replace
// those of the settings.
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
		if l.milter, err = bindAll(s, log, "milter.listen", s.Milter.Listen); err != nil {
			return nil, err
		}
	}
	if len(l.spamd) > 0 && len(s.Spamd.Listen) == 0 {
		return nil, &failure{exConfig, fmt.Errorf("%s: is empty, but systemd passes a socket named spamd", s.Where("spamd.listen"))}
	}
	if len(l.spamd) == 0 {
		if l.spamd, err = bindAll(s, log, "spamd.listen", s.Spamd.Listen); err != nil {
			return nil, err
		}
	}
	if err := s.checkListeners(l.names()); err != nil { // the names of passed sockets are known only now
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
		// No access from other machines was configured.
		return nil, &failure{exConfig, fmt.Errorf("%s: is empty, but systemd passes a socket named remote", s.Where("control.remote"))}
	}
	if l.http == nil && s.HTTP.Listen != "" {
		if l.http, err = bind(s, log, "http.listen", s.HTTP.Listen); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// checkAddresses rejects duplicate addresses. Otherwise the second listener would find its
// address in use, "by another process". It is not called if systemd passes sockets, which
// mostly replace the configured ones.
func (s *settings) checkAddresses() error {
	var errs []error
	seen := make(map[string]string)
	check := func(key, spec string) {
		network, address, err := socket.Parse(spec)
		if err != nil || strings.HasSuffix(address, ":0") {
			return // reported elsewhere; any free port
		}
		if first, twice := seen[network+address]; twice {
			errs = append(errs, fmt.Errorf("%s: %q is already an address of %s", s.Where(key), spec, first))
			return
		}
		seen[network+address] = key
	}
	for _, spec := range s.Milter.Listen {
		check("milter.listen", spec)
	}
	for _, spec := range s.Spamd.Listen {
		check("spamd.listen", spec)
	}
	for _, a := range []struct{ key, spec string }{
		{"control.listen", s.Control.Listen}, {"control.remote", s.Control.Remote}, {"http.listen", s.HTTP.Listen},
	} {
		check(a.key, a.spec)
	}
	return errors.Join(errs...)
}

// bindAll listens on the addresses of a list. With an error it returns those that are bound.
func bindAll(s *settings, log *slog.Logger, key string, specs []string) (bound []listener, err error) {
	for _, spec := range specs {
		ln, err := bind(s, log, key, spec)
		if err != nil {
			return bound, err
		}
		bound = append(bound, listener{spec, ln})
	}
	return bound, nil
}

// bind listens on one address. It warns if the group of a unix socket cannot reach it.
func bind(s *settings, log *slog.Logger, key, spec string) (net.Listener, error) {
	// Owner and group; the socket's folder may be stricter.
	mode, group, groupKey := fs.FileMode(0o660), s.Control.Group, "control.group"
	switch key {
	case "milter.listen":
		mode = s.Milter.SocketMode
		if s.Milter.Group != "" {
			group, groupKey = s.Milter.Group, "milter.group"
		}
	case "spamd.listen":
		mode = s.Spamd.SocketMode
		if s.Spamd.Group != "" {
			group, groupKey = s.Spamd.Group, "spamd.group"
		}
	}
	ln, err := socket.Listen(spec, mode, group)
	if err != nil {
		return nil, &failure{exCantCreate, fmt.Errorf("%s: %w", s.Where(key), err)}
	}
	if group != "" && ln.Addr().Network() == "unix" {
		if err := socket.CheckWay(ln.Addr().String(), group); err != nil {
			log.Warn("the group of "+groupKey+" cannot reach this socket: put it elsewhere, such as in /run/spambloom",
				"key", key, "listen", spec, "error", err)
		}
	}
	return ln, nil
}

// names returns the names of the listeners for mail, for policies and rules.
func (l *sockets) names() (names []string) {
	for _, ln := range slices.Concat(l.milter, l.spamd) {
		names = append(names, ln.name)
	}
	return names
}

// adoptAll takes over the sockets passed by systemd, and closes the original descriptors.
func (l *sockets) adoptAll(files []*os.File) (err error) {
	for _, f := range files {
		ln, listenErr := net.FileListener(f) // uses a duplicate of the descriptor
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

// adopt stores a socket by its name. There may be only one named control, remote or http,
// so that a second one is not served as a milter.
func (l *sockets) adopt(name string, ln net.Listener) error {
	var place *net.Listener
	switch name {
	case "spamd":
		l.spamd = append(l.spamd, listener{name, ln})
		return nil
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
		return fmt.Errorf("two sockets are named %q; only one is allowed", name)
	}
	*place = ln
	return nil
}

// close is for a failed start. Later the servers close their listeners, and a second close
// does nothing.
func (l *sockets) close() {
	for _, ln := range slices.Concat(l.milter, l.spamd) {
		ln.Close()
	}
	for _, ln := range []net.Listener{l.control, l.remote, l.http} {
		if ln != nil {
			ln.Close()
		}
	}
}

// attrs returns the addresses for the log.
func (l *sockets) attrs() []any {
	addresses := func(list []listener) (all []string) {
		for _, ln := range list {
			all = append(all, ln.Addr().String())
		}
		return all
	}
	attrs := []any{"milter", addresses(l.milter), "control", l.control.Addr().String()}
	if len(l.spamd) > 0 {
		attrs = append(attrs, "spamd", addresses(l.spamd))
	}
	if l.remote != nil {
		attrs = append(attrs, "remote", l.remote.Addr().String())
	}
	if l.http != nil {
		attrs = append(attrs, "http", l.http.Addr().String())
	}
	return attrs
}
