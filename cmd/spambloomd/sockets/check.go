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

// KeyOf returns the key of the addresses that a socket from systemd replaces, by its name.
func KeyOf(name string) string {
	switch name {
	case "spamd", "control", "http":
		return name + ".listen"
	case "remote":
		return "control.remote"
	}
	return "milter.listen"
}

// Check returns why Listen would fail with the addresses of the settings, if a user starts the
// daemon, and systemd passes sockets of these names. If the daemon is running already, addresses
// in use are its own. The folders in made are made by the start.
func Check(s *settings.Settings, u socket.User, running bool, passed []string, made ...string) error {
	if err := checkPassed(s, passed); err != nil {
		return &exit.Failure{Code: exit.Config, Err: err}
	}
	var errs []error
	replaced := make(map[string]bool)
	for _, name := range passed {
		replaced[KeyOf(name)] = true
	}
	check := func(key, spec string) {
		if replaced[key] {
			return
		}
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

// checkPassed returns why the start refuses sockets that systemd passes under these names.
func checkPassed(s *settings.Settings, passed []string) error {
	var mail []string
	count := make(map[string]int)
	for _, name := range passed {
		key := KeyOf(name)
		count[key]++
		switch {
		case key == "milter.listen" || key == "spamd.listen":
			mail = append(mail, name)
		case count[key] > 1: // one would be served as a milter
			return fmt.Errorf("sockets from systemd: two sockets are named %q; only one is allowed", name)
		}
	}
	if count["spamd.listen"] > 0 && len(s.Spamd.Listen) == 0 {
		return fmt.Errorf("%s: is empty, but systemd passes a socket named spamd", s.Where("spamd.listen"))
	}
	if count["control.remote"] > 0 && s.Control.Remote == "" { // no access from other machines was configured
		return fmt.Errorf("%s: is empty, but systemd passes a socket named remote", s.Where("control.remote"))
	}
	if count["milter.listen"] == 0 {
		mail = append(mail, s.Milter.Listen...)
	}
	if count["spamd.listen"] == 0 {
		mail = append(mail, s.Spamd.Listen...)
	}
	return s.CheckListeners(mail)
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
