package peer

import (
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/reporting/desk"
)

// Of returns the process that connected, as the kernel names it (SO_PEERCRED, unix(7)). That was
// true when it connected: the process may have changed its user since, or passed the
// connection on.
func Of(conn net.Conn) desk.Origin {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return desk.Origin{}
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return desk.Origin{}
	}
	var o desk.Origin
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			o = desk.Origin{UID: int(cred.Uid), GID: int(cred.Gid), PID: int(cred.Pid), Known: true}
			o.Groups = groupsOf(fd)
		}
	})
	return o
}

// maxGroups bounds the groups of a process. It is NGROUPS_MAX of Linux.
const maxGroups = 65536

// groupsOf returns the supplementary groups of the process that connected
// (SO_PEERGROUPS, Linux 4.13), or nil if the kernel does not return them. Package unix has
// the number of the option, but no call that takes a list.
func groupsOf(fd uintptr) []int {
	list := make([]uint32, 64)
	for {
		size := uint32(len(list)) * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			groups := make([]int, 0, size/4)
			for _, gid := range list[:size/4] {
				groups = append(groups, int(gid))
			}
			return groups
		case errors.Is(errno, unix.ERANGE) && size/4 > uint32(len(list)) && size/4 <= maxGroups:
			list = make([]uint32, size/4) // the kernel has returned their number
		default:
			return nil
		}
	}
}
