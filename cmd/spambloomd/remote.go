package main

import (
	"fmt"
	"net/http"

	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/reporting/server"
)

// openRemote creates the server for other machines, with the same API as the control
// socket.
func (d *service) openRemote(api http.Handler) (err error) {
	if d.remote, err = server.NewRemote(d.started.RemoteOptions(), d.log); err != nil {
		return &exit.Failure{Code: exit.Config, Err: fmt.Errorf("%s: %w", d.started.Where("control.remote"), err)}
	}
	d.remoteServer = d.remote.NewServer(api)
	return nil
}

// reloadRemote reads certificates and tokens again. They have just been checked.
func (d *service) reloadRemote(s *settings.Settings) {
	if d.remote == nil || s.Control.Remote == "" { // switched on or off: needs a restart
		return
	}
	if err := d.remote.Reload(s.RemoteOptions()); err != nil {
		d.log.Error("certificates and tokens of remote clients not reloaded, the previous ones stay in use", "error", err)
	}
}
