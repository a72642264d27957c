package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/cmd/internal/socket"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// dial finds the daemon's control socket and connects, or connects to the daemon of
// another machine.
func (c *cli) dial() (*client.Client, error) {
	return c.dialTo(c.spec())
}

// asked connects to the daemon and asks one question.
func asked[A any](ctx context.Context, c *cli, endpoint v1.Get[A]) (answer A, err error) {
	daemon, err := c.dial()
	if err != nil {
		return answer, err
	}
	defer daemon.Close()
	return client.Get(ctx, daemon, endpoint)
}

// spec is the control socket that is named, empty where none is.
func (c *cli) spec() string { return cmp.Or(c.control, os.Getenv("SPAMBLOOM_CONTROL")) }

// isRemote tells a daemon on another machine from one at a unix socket.
func isRemote(spec string) bool { return strings.HasPrefix(spec, "https:") }

// dialTo connects to the control socket spec, empty for where daemons have it.
func (c *cli) dialTo(spec string) (*client.Client, error) {
	if spec != "" {
		if isRemote(spec) {
			return dialRemote(spec)
		}
		network, path, err := socket.Parse(spec)
		if errors.Is(err, socket.ErrForm) || err == nil && network != "unix" {
			err = fmt.Errorf("control socket %q: want unix:PATH, or https://HOST:PORT of another machine", spec)
		}
		if err != nil {
			return nil, &usageError{err}
		}
		return client.Dial("unix:" + path)
	}
	tried := controlSockets()
	for _, path := range tried {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) && isTrusted(path) {
			return client.Dial("unix:" + path)
		}
	}
	return nil, fmt.Errorf("%w: there is none of %s", client.ErrUnavailable, strings.Join(tried, ", "))
}

// controlSockets are the places where daemons have their control socket: as a
// service, by configuration, by default, and when run by hand by this user in this folder.
func controlSockets() []string {
	var paths []string
	// systemd writes all state folders of a unit there; the daemon has one.
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		paths = append(paths, filepath.Join(dir, "spambloom.sock"))
	}
	return append(paths, "/run/spambloom/control.sock", "/var/lib/spambloom/spambloom.sock",
		"spambloom-data/spambloom.sock")
}

// isTrusted refuses a daemon that somebody else put into this folder, which may be one
// where all can write, such as /tmp: it would see what is reported, and give verdicts.
func isTrusted(path string) bool {
	if filepath.IsAbs(path) {
		return true
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	return err == nil && isOwnFolder(dir)
}

// maxToken bounds a file with a token, in bytes.
const maxToken = 4096

// dialRemote connects to another machine, with the credentials of the environment: a
// command line can be read by every user.
func dialRemote(spec string) (*client.Client, error) {
	if _, err := client.RemoteAddress(spec); err != nil {
		return nil, &usageError{err}
	}
	credentials := client.Credentials{
		CA: os.Getenv("SPAMBLOOM_CA"), Cert: os.Getenv("SPAMBLOOM_CERT"), Key: os.Getenv("SPAMBLOOM_KEY"),
		Token: os.Getenv("SPAMBLOOM_TOKEN"),
	}
	if path := os.Getenv("SPAMBLOOM_TOKEN_FILE"); path != "" && credentials.Token == "" {
		var err error
		if credentials.Token, err = readToken(path); err != nil {
			return nil, readFault(err)
		}
	}
	if err := credentials.Check(); err != nil {
		return nil, readFault(err)
	}
	return client.DialRemote(spec, credentials)
}

// readToken reads a file that holds a token, and that others may not read.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return "", fmt.Errorf("token %s: mode is %04o, others may read it (chmod o-rwx %s)", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("token %s: the file is empty", path)
	}
	return token, nil
}
