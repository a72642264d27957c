package sockets

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
)

// Check returns why Listen would fail with the addresses of the settings, if a user starts the
// daemon. If it is running already, addresses in use are its own. The folders in made are made
// by the start.
func Check(s *settings.Settings, u socket.User, running bool, made ...string) error {
	var errs []error
	check := func(key, spec string) {
		_, group, _ := access(s, key)
		err := u.Check(spec, group)
		if err == nil || running && errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, fs.ErrNotExist) && isIn(made, spec) {
			return
		}
		errs = append(errs, &exit.Failure{Code: exit.CantCreate, Err: fmt.Errorf("%s: %w", s.Where(key), err)})
	}
	for _, spec := range s.Milter.Listen {
		check("milter.listen", spec)
	}
	for _, spec := range s.Spamd.Listen {
		check("spamd.listen", spec)
	}
	check("control.listen", s.Control.Listen)
	if s.Control.Remote != "" {
		check("control.remote", s.Control.Remote)
	}
	if s.HTTP.Listen != "" {
		check("http.listen", s.HTTP.Listen)
	}
	return errors.Join(errs...)
}

// isIn reports whether a unix socket is in one of the folders.
func isIn(folders []string, spec string) bool {
	network, path, err := socket.Parse(spec)
	for _, folder := range folders {
		if err == nil && network == "unix" && filepath.Dir(path) == filepath.Clean(folder) {
			return true
		}
	}
	return false
}
