package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/reporting/server"
)

// checkRemote checks the address for other machines, and its files.
func (s *settings) checkRemote() error {
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
	if _, err := server.NewRemote(s.remoteOptions(), nil); err != nil {
		return fmt.Errorf("%s: %w", s.Where("control.remote"), err)
	}
	return nil
}

func (s *settings) remoteOptions() server.RemoteOptions {
	return server.RemoteOptions{
		Cert: s.Control.RemoteCert, Key: s.Control.RemoteKey,
		ClientsCA: s.Control.RemoteClientsCA, Tokens: s.Control.RemoteTokens,
	}
}

// openRemote creates the server for other machines, with the same API as the control
// socket.
func (d *service) openRemote(api http.Handler) (err error) {
	if d.remote, err = server.NewRemote(d.started.remoteOptions(), d.log); err != nil {
		return &failure{exConfig, fmt.Errorf("%s: %w", d.started.Where("control.remote"), err)}
	}
	d.remoteServer = d.remote.NewServer(api)
	return nil
}

// reloadRemote reads certificates and tokens again. They have just been checked.
func (d *service) reloadRemote(s *settings) {
	if d.remote == nil || s.Control.Remote == "" { // switched on or off: needs a restart
		return
	}
	if err := d.remote.Reload(s.remoteOptions()); err != nil {
		d.log.Error("certificates and tokens of remote clients not reloaded, the previous ones stay in use", "error", err)
	}
}
