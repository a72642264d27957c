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

// staleTimeout is the timeout for checking whether a process answers on an existing unix
// socket.
const staleTimeout = 2 * time.Second

// maxStall bounds for how long the kernel keeps what the other end of a TCP connection does not
// take. Without it, answers to a client that reads nothing are in the kernel's memory for minutes
// after their connection, and its place, are given up.
const maxStall = 10 * time.Second

// maxReceived bounds what the kernel keeps of a TCP connection that is not read, for example while a
// message waits to be judged; with its own structures, twice as much. Otherwise the buffer grows with
// what was read, to megabytes (tcp_rmem). Unit: bytes.
const maxReceived = 128 << 10

// maxSent bounds what the kernel keeps of what was sent on a TCP connection and not read; with its own
// structures, twice as much. A longer answer that nobody reads so keeps its connection, which is
// counted, and does not become the kernel's. A slow network takes as much in each round trip. Unit: bytes.
const maxSent = 16 << 10

// Listen listens on spec. A unix socket gets mode and, unless group is empty, that group (a
// name or a number); both are ignored for TCP. A unix socket left behind by a dead process
// is replaced. A socket in use, or another file, stays unchanged. Errors contain the spec;
// a port or path in use wraps syscall.EADDRINUSE.
func Listen(spec string, mode fs.FileMode, group string) (net.Listener, error) {
	network, address, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	var ln net.Listener
	if network == "unix" {
		ln, err = listenUnix(address, mode, group)
	} else if ln, err = listenTCP(network, address); err != nil {
		err = explain(address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", spec, err)
	}
	return ln, nil
}

// listenTCP listens without Multipath TCP, whose sockets the kernel bounds otherwise.
func listenTCP(network, address string) (net.Listener, error) {
	c := net.ListenConfig{}
	c.SetMultipathTCP(false)
	ln, err := c.Listen(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	if err := Bound(ln); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// FileListener is net.FileListener, but refuses sockets that never accept a stream: a connected one,
// one of datagrams, and one that does not listen.
func FileListener(f *os.File) (net.Listener, error) {
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	listens := false
	if err == nil {
		err = raw.Control(func(fd uintptr) { listens = isListening(fd) })
	}
	if err == nil && !listens {
		err = errors.New("it does not listen for streams")
	}
	if err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// Bound bounds what the kernel keeps for connections of a listener on TCP: for each maxReceived and maxSent,
// and nothing for one whose other end takes nothing of what was sent for maxStall. Other listeners stay
// as they are.
func Bound(ln net.Listener) error {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		err = errors.Join(setStall(fd, int(maxStall.Milliseconds())), setBuffers(fd, maxReceived, maxSent))
	})
	return errors.Join(failed, err)
}

// inUse is syscall.EADDRINUSE with its own text: the address precedes it, and "address
// already in use" after it would repeat it.
type inUse string

func (e inUse) Error() string { return string(e) }
func (inUse) Unwrap() error   { return syscall.EADDRINUSE }

// explain puts the essential fact of a failed TCP listen first.
func explain(address string, err error) error {
	host, port, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return err
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return inUse("port in use by another process")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine: %w", host, syscall.EADDRNOTAVAIL)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no permission for port %s; ports below 1024 need root or CAP_NET_BIND_SERVICE: %w", port, syscall.EACCES)
	}
	return err
}

func listenUnix(path string, mode fs.FileMode, group string) (net.Listener, error) {
	gid, err := LookupGroup(group)
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

// bind creates the socket with mode 0, so that nobody can connect before grant has run.
// Linux takes the mode from the unbound socket. Elsewhere the call has no effect and the
// umask applies until then.
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

// removeStale removes the socket at path if no process answers on it.
func removeStale(path string) error {
	if err := checkStale(path); err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkStale returns an error if another file than a socket is at path, or one on which a
// process answers.
func checkStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return inUse("the file exists and is not a socket")
	}
	conn, err := net.DialTimeout("unix", path, staleTimeout)
	if err == nil {
		conn.Close()
		return inUse("socket in use by another process")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s exists, and checking whether it is in use failed: %w", path, err)
	}
	return nil
}

// CheckWay returns an error for the first folder on the path of a unix socket that a group
// may not enter: its group is useless for users who cannot reach the socket. It checks only
// owner and mode.
func CheckWay(path, group string) error {
	gid, err := LookupGroup(group)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		enter := fs.FileMode(0o001)
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Gid) == gid {
			enter = 0o010
		}
		if info.Mode()&enter == 0 {
			return fmt.Errorf("group %q may not enter the folder %s, mode %04o", group, dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// LookupGroup returns the number of a group given by name or number; -1 for "".
func LookupGroup(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	if gid, err := strconv.ParseUint(group, 10, 31); err == nil {
		return int(gid), nil
	}
	g, err := user.LookupGroup(group)
	if _, unknown := errors.AsType[user.UnknownGroupError](err); unknown {
		return -1, fmt.Errorf("there is no group %q on this machine", group)
	}
	if err != nil {
		return -1, fmt.Errorf("group %q: %w", group, err)
	}
	return strconv.Atoi(g.Gid)
}
