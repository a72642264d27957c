// Package sockets owns the addresses that the daemon listens on: it binds those of the settings,
// or adopts those that systemd passes. It serves nothing.
package sockets

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
)

// Sockets are all addresses that the daemon listens on. They are bound before anything
// runs, so that an address in use is an error of the start.
type Sockets struct {
	Milter  []Listener
	Spamd   []Listener
	Control net.Listener
	Remote  net.Listener // nil: none
	HTTP    net.Listener // nil: none

	Unserved []string // addresses that were in use, of all but the milter and the control socket
	unserved []string // those of spamd, as configured
}

// Listener accepts connections of MTAs and of spamd's clients. Its name, used in policies and rules, is the
// configured address or systemd's name of the socket.
type Listener struct {
	Name string
	net.Listener
}

// Listen binds the addresses of the settings. Sockets passed by systemd
// (FileDescriptorName= spamd, control, remote, http, or any other name for the milter) replace
// those of the settings. An address of spamd, of HTTP or for other machines that is in use is left out
// (Sockets.Unserved).
func Listen(s *settings.Settings, log *slog.Logger) (_ *Sockets, err error) {
	l := new(Sockets)
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	files := activation.Files(true)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if err := errors.Join(checkPassed(s, names), l.adoptAll(files)); err != nil {
		return nil, &exit.Failure{Code: exit.Config, Err: err}
	}
	if len(l.Milter) == 0 {
		if l.Milter, err = bindAll(s, log, "milter.listen", s.Milter.Listen); err != nil {
			return nil, err
		}
	}
	if len(l.Spamd) == 0 {
		if err = l.bindSpamd(s, log); err != nil {
			return nil, err
		}
	}
	for _, one := range []struct {
		listener     *net.Listener
		key, address string
	}{
		{&l.Control, "control.listen", s.Control.Listen},
		{&l.Remote, "control.remote", s.Control.Remote},
		{&l.HTTP, "http.listen", s.HTTP.Listen},
	} {
		if *one.listener != nil || one.address == "" {
			continue
		}
		ln, err := bind(s, log, one.key, one.address)
		switch {
		case err == nil:
			*one.listener = ln
		case one.key == "control.listen" || !l.leaveOut(log, one.key, one.address, err):
			return nil, err
		}
	}
	return l, nil
}

// bindSpamd listens for clients of spamd.
func (l *Sockets) bindSpamd(s *settings.Settings, log *slog.Logger) error {
	for _, spec := range s.Spamd.Listen {
		ln, err := bind(s, log, "spamd.listen", spec)
		if err == nil {
			l.Spamd = append(l.Spamd, Listener{spec, ln})
		} else if !l.leaveOut(log, "spamd.listen", spec, err) {
			return err
		} else {
			l.unserved = append(l.unserved, spec)
		}
	}
	return nil
}

// leaveOut reports whether the daemon starts without an address: if it is in use. While the daemon
// restarts, any user of the machine can take a port, and that must not keep mail from being judged.
func (l *Sockets) leaveOut(log *slog.Logger, key, address string, err error) bool {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	log.Error("not served, until a restart finds the address free; the milter judges mail without it", "key", key, "error", err)
	l.Unserved = append(l.Unserved, fmt.Sprintf("%s (%s)", address, key))
	return true
}

// access returns the mode and the group of the unix sockets of a key, and the key of the group.
// The socket's folder may be stricter.
func access(s *settings.Settings, key string) (mode fs.FileMode, group, groupKey string) {
	mode, group, groupKey = 0o660, s.Control.Group, "control.group"
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
	return mode, group, groupKey
}

// bindAll listens on the addresses of a list. With an error it returns those that are bound.
func bindAll(s *settings.Settings, log *slog.Logger, key string, specs []string) (bound []Listener, err error) {
	for _, spec := range specs {
		ln, err := bind(s, log, key, spec)
		if err != nil {
			return bound, err
		}
		bound = append(bound, Listener{spec, ln})
	}
	return bound, nil
}

// bind listens on one address. It warns if the group of a unix socket cannot reach it.
func bind(s *settings.Settings, log *slog.Logger, key, spec string) (net.Listener, error) {
	mode, group, groupKey := access(s, key)
	ln, err := socket.Listen(spec, mode, group)
	if err != nil {
		return nil, &exit.Failure{Code: exit.CantCreate, Err: fmt.Errorf("%s: %w", s.Where(key), err)}
	}
	if group != "" && ln.Addr().Network() == "unix" {
		if err := socket.CheckWay(ln.Addr().String(), group); err != nil {
			log.Warn("the group of "+groupKey+" cannot reach this socket: put it elsewhere, such as in /run/spambloom",
				"key", key, "listen", spec, "error", err)
		}
	}
	return ln, nil
}

// Names returns the names of the listeners for mail, for policies and rules. Those that were in use
// are among them, so that a rule for one is not refused.
func (l *Sockets) Names() (names []string) {
	for _, ln := range slices.Concat(l.Milter, l.Spamd) {
		names = append(names, ln.Name)
	}
	return append(names, l.unserved...)
}

// adoptAll takes over the sockets passed by systemd, and closes the original descriptors.
func (l *Sockets) adoptAll(files []*os.File) (err error) {
	for _, f := range files {
		ln, listenErr := socket.FileListener(f) // uses a duplicate of the descriptor
		f.Close()
		if listenErr != nil {
			err = errors.Join(err, fmt.Errorf("sockets from systemd: %q is not a listening stream socket: %w", f.Name(), listenErr))
			continue
		}
		_ = socket.Bound(ln) // a listener of Multipath TCP cannot
		l.adopt(f.Name(), ln)
	}
	return err
}

// adopt stores a socket by its name.
func (l *Sockets) adopt(name string, ln net.Listener) {
	switch KeyOf(name) {
	case "spamd.listen":
		l.Spamd = append(l.Spamd, Listener{name, ln})
	case "control.listen":
		l.Control = ln
	case "control.remote":
		l.Remote = ln
	case "http.listen":
		l.HTTP = ln
	default:
		l.Milter = append(l.Milter, Listener{name, ln})
	}
}

// Close is for a failed start. Later the servers close their listeners, and a second close
// does nothing.
func (l *Sockets) Close() {
	for _, ln := range slices.Concat(l.Milter, l.Spamd) {
		ln.Close()
	}
	for _, ln := range []net.Listener{l.Control, l.Remote, l.HTTP} {
		if ln != nil {
			ln.Close()
		}
	}
}

// Attrs returns the addresses for the log.
func (l *Sockets) Attrs() []any {
	addresses := func(list []Listener) (all []string) {
		for _, ln := range list {
			all = append(all, ln.Addr().String())
		}
		return all
	}
	attrs := []any{"milter", addresses(l.Milter), "control", l.Control.Addr().String()}
	if len(l.Spamd) > 0 {
		attrs = append(attrs, "spamd", addresses(l.Spamd))
	}
	if l.Remote != nil {
		attrs = append(attrs, "remote", l.Remote.Addr().String())
	}
	if l.HTTP != nil {
		attrs = append(attrs, "http", l.HTTP.Addr().String())
	}
	return attrs
}
