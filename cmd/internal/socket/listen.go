package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// staleTimeout bounds the question whether somebody answers on a unix socket
// that is already there.
const staleTimeout = 2 * time.Second

// Listen listens on spec. A unix socket gets mode and, where group is not
// empty, that group (a name or a number); for TCP both are without meaning. A
// unix socket left behind by a process that died is replaced; one on which
// somebody answers, and a file that is no socket, are left alone. Errors name
// the spec; a port or path in use wraps syscall.EADDRINUSE.
func Listen(spec string, mode fs.FileMode, group string) (net.Listener, error) {
	network, address, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	var ln net.Listener
	if network == "unix" {
		ln, err = listenUnix(address, mode, group)
	} else if ln, err = net.Listen(network, address); err != nil {
		err = explain(address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", spec, err)
	}
	return ln, nil
}

// explain puts the key fact of a failed TCP listen first.
func explain(address string, err error) error {
	host, port, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port in use: another process listens on port %s of %s: %w", port, host, syscall.EADDRINUSE)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is no address of this machine: %w", host, syscall.EADDRNOTAVAIL)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no right to port %s; ports below 1024 need root or CAP_NET_BIND_SERVICE: %w", port, syscall.EACCES)
	}
	return err
}

func listenUnix(path string, mode fs.FileMode, group string) (net.Listener, error) {
	gid, err := lookupGroup(group)
	if err != nil {
		return nil, err
	}
	ln, err := bind(path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		ln, err = bind(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s does not exist: %w", filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if err := grant(path, mode, gid); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// bind makes the socket with mode 0, so that nobody gets in before grant has
// run. Linux takes the mode from the unbound socket; elsewhere the call does
// nothing and the umask decides for that moment.
func bind(path string) (net.Listener, error) {
	closed := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0) })
	}}
	return closed.Listen(context.Background(), "unix", path)
}

// grant opens a bound socket to its owner and group.
func grant(path string, mode fs.FileMode, gid int) error {
	if gid >= 0 {
		if err := os.Lchown(path, -1, gid); err != nil {
			return fmt.Errorf("give the socket to group %d: %w", gid, err)
		}
	}
	return os.Chmod(path, mode)
}

// removeStale removes the socket at path when nobody answers on it.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is no socket: %w", path, syscall.EADDRINUSE)
	}
	conn, err := net.DialTimeout("unix", path, staleTimeout)
	if err == nil {
		conn.Close()
		return fmt.Errorf("socket in use: another process answers on %s: %w", path, syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s exists, and whether it is in use cannot be told: %w", path, err)
	}
	return os.Remove(path)
}

// lookupGroup gives the number of a group, -1 for none.
func lookupGroup(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	if gid, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(gid), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return -1, fmt.Errorf("group %q: %w", group, err)
	}
	return strconv.Atoi(g.Gid)
}
