package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/milter/spamd"
	"github.com/spambloom/spambloom/reporting/server"
)

// HTTPNames are the names for which the HTTP listener answers, besides addresses. Otherwise
// a page loaded in a browser from elsewhere could point its own name at this host and read
// this port (DNS rebinding).
func (s *Settings) HTTPNames() []string {
	names := append([]string{"localhost", s.Name}, s.HTTP.Names...)
	if host, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(host, ".")
		names = append(names, host, short)
	}
	if host, _, err := net.SplitHostPort(s.HTTP.Listen); err == nil {
		names = append(names, host)
	}
	return names
}

// checkAddresses rejects duplicate addresses. Otherwise the second listener would find its
// address in use, "by another process". It is not called if systemd passes sockets, which
// mostly replace the configured ones.
func (s *Settings) checkAddresses() error {
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

// SocketsHanded reports whether systemd passes sockets. Taking them over clears it.
func SocketsHanded() bool { return os.Getenv("LISTEN_FDS") != "" }

// CheckListeners rejects policies and rules for listeners not in named. The names of
// systemd's sockets are known only after they were taken over.
func (s *Settings) CheckListeners(named []string) error {
	of := "an address of milter.listen or spamd.listen"
	if s.handed {
		of = "a name of a socket for mail from systemd"
	}
	var errs []error
	check := func(where string, listeners []string) {
		for _, l := range listeners {
			if !slices.Contains(named, l) {
				errs = append(errs, fmt.Errorf("%s: %q is not %s; allowed: %q", where, l, of, named))
			}
		}
	}
	for i, p := range s.Policies {
		check(s.WherePolicy(i, "listeners"), p.Listeners)
	}
	for i, a := range s.Allow {
		check(s.WhereAllow(i, "listeners"), a.Listeners)
	}
	return errors.Join(errs...)
}

// checkRemote checks the address for other machines, and its files.
func (s *Settings) checkRemote() error {
	if s.Control.Remote == "" {
		return nil
	}
	network, _, err := socket.Parse(s.Control.Remote)
	if errors.Is(err, socket.ErrForm) || err == nil && network == "unix" {
		err = fmt.Errorf("address %q: want HOST:PORT", s.Control.Remote)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Where("control.remote"), err)
	}
	for _, k := range []struct{ key, path string }{
		{"control.remote_cert", s.Control.RemoteCert}, {"control.remote_key", s.Control.RemoteKey},
	} {
		if k.path == "" {
			return fmt.Errorf("%s: is empty, but control.remote needs one", s.Where(k.key))
		}
	}
	if s.Control.RemoteClientsCA == "" && s.Control.RemoteTokens == "" {
		return fmt.Errorf("%s: needs control.remote_clients_ca or control.remote_tokens; otherwise no client has access", s.Where("control.remote"))
	}
	if _, err := server.NewRemote(s.RemoteOptions(), nil); err != nil {
		return fmt.Errorf("%s: %w", s.Where("control.remote"), err)
	}
	return nil
}

// RemoteOptions returns the files for access from other machines.
func (s *Settings) RemoteOptions() server.RemoteOptions {
	return server.RemoteOptions{
		Cert: s.Control.RemoteCert, Key: s.Control.RemoteKey,
		ClientsCA: s.Control.RemoteClientsCA, Tokens: s.Control.RemoteTokens,
	}
}

// SpamdOptions returns the options of the spamd protocol, without what the daemon's other
// parts do for it.
func (s *Settings) SpamdOptions(log *slog.Logger) spamd.Options {
	return spamd.Options{
		Threshold:               s.Spamd.Threshold,
		SpamScore:               s.Spamd.SpamScore,
		BulkScore:               s.Spamd.BulkScore,
		MaxConnections:          int(s.Spamd.MaxConnections),
		MaxConnectionsPerClient: int(s.Spamd.MaxConnectionsPerClient),
		ContentTimeout:          s.Milter.ContentTimeout,
		WriteTimeout:            s.Milter.WriteTimeout,
		Log:                     log,
	}
}

// spamdMemory returns the most memory of the spamd protocol. Unit: bytes.
func (s *Settings) spamdMemory() int64 {
	if len(s.Spamd.Listen) == 0 {
		return 0
	}
	return s.SpamdOptions(nil).MostMemory()
}

// checkSpamd accepts unix sockets, and TCP addresses of this machine.
func (s *Settings) checkSpamd() error {
	var errs []error
	for _, spec := range s.Spamd.Listen {
		network, address, err := socket.Parse(spec)
		if err == nil && network != "unix" && !isLoopback(address) {
			err = fmt.Errorf("address %q: want unix:PATH, or a loopback address such as inet:783@127.0.0.1; the protocol has no passwords", spec)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Where("spamd.listen"), err))
		}
	}
	if _, err := socket.LookupGroup(s.Spamd.Group); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", s.Where("spamd.group"), err))
	}
	return errors.Join(errs...)
}

func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
