package verb

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

// Dial connects to the daemon's control socket, or to a daemon on another machine.
func (c *CLI) Dial() (*client.Client, error) {
	return c.DialTo(c.Spec())
}

// Asked connects to the daemon and returns its answer to one question.
func Asked[A any](ctx context.Context, c *CLI, endpoint v1.Get[A]) (answer A, err error) {
	daemon, err := c.Dial()
	if err != nil {
		return answer, err
	}
	defer daemon.Close()
	return client.Get(ctx, daemon, endpoint)
}

// Spec returns the control socket from --control or SPAMBLOOM_CONTROL, or an empty string.
func (c *CLI) Spec() string { return cmp.Or(c.Control, os.Getenv("SPAMBLOOM_CONTROL")) }

// IsRemote reports whether spec names a daemon on another machine, not a unix socket.
func IsRemote(spec string) bool { return strings.HasPrefix(spec, "https:") }

// DialTo connects to the control socket spec; if it is empty, to one in the usual places.
func (c *CLI) DialTo(spec string) (*client.Client, error) {
	if spec != "" {
		if err := checkShown(spec); err != nil {
			return nil, UsageError(err)
		}
		if IsRemote(spec) {
			return dialRemote(spec)
		}
		network, path, err := socket.Parse(spec)
		if errors.Is(err, socket.ErrForm) || err == nil && network != "unix" {
			err = fmt.Errorf("control socket %q: want unix:PATH, or https://HOST:PORT of another machine", spec)
		}
		if err != nil {
			return nil, UsageError(err)
		}
		return client.Dial("unix:" + path)
	}
	tried := controlSockets()
	for _, path := range tried {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) && isTrusted(path) {
			return client.Dial("unix:" + path)
		}
	}
	return nil, fmt.Errorf("%w: found none of %s", client.ErrUnavailable, strings.Join(tried, ", "))
}

// controlSockets returns the usual places of the control socket: that of the service, the
// configured one, the default, and that of a daemon run by hand in this folder.
func controlSockets() []string {
	var paths []string
	// systemd lists all state folders of a unit here; the daemon has one.
	if dir, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); dir != "" {
		paths = append(paths, filepath.Join(dir, "spambloom.sock"))
	}
	return append(paths, "/run/spambloom/control.sock", "/var/lib/spambloom/spambloom.sock",
		"spambloom-data/spambloom.sock")
}

// isTrusted reports whether a socket may be used: its path is absolute, or its folder
// belongs to the user. In a folder that everybody can write, such as /tmp, another user
// could place a false daemon, which would see reports and give verdicts.
func isTrusted(path string) bool {
	if filepath.IsAbs(path) {
		return true
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	return err == nil && isOwnFolder(dir)
}

// checkShown returns an error if the control address or the path of a credential is a token or contains
// a password: an error about it would show the secret, also in the log of a mail server, and in mail that
// returns to its sender.
func checkShown(spec string) error {
	if (!strings.HasPrefix(spec, "unix:") || strings.Contains(spec, "://")) && strings.Contains(spec, "@") {
		return errors.New("the control address has an @, which may follow a password, so it is not shown: want unix:PATH or https://HOST:PORT")
	}
	if client.HasToken(spec) {
		return errors.New("the control address contains a token: set SPAMBLOOM_TOKEN_FILE to a file with it")
	}
	for _, name := range []string{"SPAMBLOOM_TOKEN_FILE", "SPAMBLOOM_CA", "SPAMBLOOM_CERT", "SPAMBLOOM_KEY"} {
		if client.HasToken(os.Getenv(name)) {
			return fmt.Errorf("%s is a token: write it into a file, and the file's path here", name)
		}
	}
	return nil
}

// maxToken bounds a file with a token, in bytes.
const maxToken = 4096

// dialRemote connects to another machine with credentials from the environment, because
// every user can read a command line.
func dialRemote(spec string) (*client.Client, error) {
	if _, err := client.RemoteAddress(spec); err != nil {
		return nil, UsageError(err)
	}
	credentials := client.Credentials{
		CA: os.Getenv("SPAMBLOOM_CA"), Cert: os.Getenv("SPAMBLOOM_CERT"), Key: os.Getenv("SPAMBLOOM_KEY"),
		Token: os.Getenv("SPAMBLOOM_TOKEN"),
	}
	if path := os.Getenv("SPAMBLOOM_TOKEN_FILE"); path != "" && credentials.Token == "" {
		var err error
		if credentials.Token, err = readToken(path); err != nil {
			return nil, ReadFault(err)
		}
	}
	if err := credentials.Check(); err != nil {
		return nil, ReadFault(err)
	}
	return client.DialRemote(spec, credentials)
}

// readToken reads a token from a file. It fails if other users may read the file.
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

// AbsoluteSpec returns the chosen control socket with an absolute path, or an empty
// string if none was chosen.
func (c *CLI) AbsoluteSpec() (string, error) {
	spec := c.Spec()
	path, ok := strings.CutPrefix(spec, "unix:")
	if !ok || filepath.IsAbs(path) {
		return spec, nil
	}
	path, err := filepath.Abs(path)
	return "unix:" + path, err
}
