package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/reporting"
)

// dial finds the daemon's control socket and connects.
func (c *cli) dial() (*reporting.Client, error) {
	if spec := cmp.Or(c.control, os.Getenv("SPAMBLOOM_CONTROL")); spec != "" {
		network, path, err := socket.Parse(spec)
		if err == nil && network != "unix" {
			err = fmt.Errorf("control socket %q: want unix:PATH", spec)
		}
		if err != nil {
			return nil, &usageError{err}
		}
		return reporting.Dial("unix:" + path)
	}
	tried := controlSockets()
	for _, path := range tried {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return reporting.Dial("unix:" + path)
		}
	}
	return nil, fmt.Errorf("%w: there is none of %s", reporting.ErrUnavailable, strings.Join(tried, ", "))
}

// controlSockets are the places where daemons have their control socket: as a
// service, by configuration, by default, and when run by hand in this folder.
func controlSockets() []string {
	var paths []string
	// systemd writes all state folders of a unit there; the daemon has one.
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		paths = append(paths, filepath.Join(dir, "spambloom.sock"))
	}
	return append(paths, "/run/spambloom/control.sock", "/var/lib/spambloom/spambloom.sock",
		"spambloom-data/spambloom.sock")
}
