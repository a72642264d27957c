package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// User is who would listen: this process, or another user in whose place root asks.
type User struct {
	UID    int
	Groups []int
	// BindsAll: ports below 1024, too.
	BindsAll bool
}

// Self returns the user of this process. Whether it may bind a port shows when it does.
func Self() (User, error) {
	groups, err := os.Getgroups()
	if err != nil {
		return User{}, fmt.Errorf("groups of this process: %w", err)
	}
	return User{os.Geteuid(), append(groups, os.Getegid()), true}, nil
}

// Check returns the error of Listen for a user and the other arguments, as far as it can be
// found without making a file or replacing one. A port is bound for a moment.
func (u User) Check(spec, group string) error {
	network, address, err := Parse(spec)
	if err != nil {
		return err
	}
	if network == "unix" {
		err = u.checkUnix(address, group)
	} else {
		err = u.checkPort(network, address)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", spec, err)
	}
	return nil
}

func (u User) checkPort(network, address string) error {
	if _, port, err := net.SplitHostPort(address); err == nil && !u.BindsAll && isPrivileged(port) {
		return explain(address, syscall.EACCES)
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		return explain(address, err)
	}
	return ln.Close()
}

// isPrivileged reports whether only root and processes with a capability may bind a port.
func isPrivileged(port string) bool {
	first := 1024
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			first = n
		}
	}
	n, err := strconv.Atoi(port)
	return err == nil && n > 0 && n < first
}

func (u User) checkUnix(path, group string) error {
	gid, err := LookupGroup(group)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if gid >= 0 && u.UID != 0 && !slices.Contains(u.Groups, gid) && !givesGroup(dir, gid) {
		return fmt.Errorf("give the socket to group %q, in which user %d is not: %w", group, u.UID, syscall.EPERM)
	}
	if err := u.checkFolder(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %s does not exist: %w", dir, fs.ErrNotExist)
	} else if err != nil {
		return fmt.Errorf("folder %s, user %d: %w", dir, u.UID, err)
	}
	return checkStale(path)
}

// givesGroup reports whether new files in a folder have a group.
func givesGroup(dir string, gid int) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeSetgid != 0 && int(owner.Gid) == gid
}

// checkFolder rejects a folder in which the user may not make a file. Of another user than this
// process, it sees only the folder's own mode.
func (u User) checkFolder(dir string) error {
	if u.UID == os.Geteuid() {
		return unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	needed := fs.FileMode(0o003)
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok {
		return nil
	} else if int(owner.Uid) == u.UID {
		needed = 0o300
	} else if slices.Contains(u.Groups, int(owner.Gid)) {
		needed = 0o030
	}
	if info.Mode()&needed != needed {
		return fs.ErrPermission
	}
	return nil
}
