package peer

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// UserOf returns the user whose process on this machine opened the other end of a TCP connection,
// as the kernel names it (sock_diag(7)). It returns false for other machines, for other kinds of
// connections, and if the kernel does not answer: under systemd, the unit must allow AF_NETLINK.
//
// It closes a connection whose other end is closed already. Nobody waits for an answer, and it
// would take a place that is counted for nobody. A process that has only ended its sending is named.
func UserOf(conn net.Conn) (uid int, ok bool) {
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	local, _ := conn.LocalAddr().(*net.TCPAddr)
	if !isTCP || local == nil {
		return 0, false
	}
	end := askFor(remote, local)
	switch {
	case end == nil && isReset(conn), end != nil && end.isClosed:
		conn.Close()
		return 0, false
	case end == nil:
		return 0, false
	}
	return end.uid, end.isHeld
}

// isReset reports whether the other side has reset a connection. The kernel forgets both ends then.
func isReset(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	state := uint8(0)
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			state = info.State
		}
	})
	return state == closed
}

// end is one end of a connection on this machine.
type end struct {
	uid      int
	isHeld   bool // by a process
	isClosed bool // by its process
}

// askFor asks the kernel for the end of a connection with these addresses: its own, and its
// peer's. It returns nil if there is none on this machine, or the kernel does not answer.
func askFor(own, peer *net.TCPAddr) *end {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	for device := range devices {
		question := diagRequest(own.AddrPort(), peer.AddrPort(), device)
		if err := unix.Sendto(fd, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil
		}
		var answer [256]byte
		n, _, err := unix.Recvfrom(fd, answer[:], unix.MSG_DONTWAIT) // the kernel answers within Sendto
		if err != nil {
			return nil
		}
		if e := diagEnd(answer[:n]); e != nil {
			return e
		}
	}
	return nil
}

// devices yields 0, for any interface, and then the number of each. The kernel needs it for link-local addresses of IPv6,
// and for a socket that its process has bound to an interface, as every user may; and it does not name it if both ends
// are here.
func devices(yield func(uint32) bool) {
	if !yield(0) {
		return
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if !yield(uint32(i.Index)) {
			return
		}
	}
}

// Offsets and values of the kernel's inet_diag.h, behind a header of netlink. Units: bytes.
const (
	diagHeader = unix.NLMSG_HDRLEN
	diagAsk    = diagHeader + 8 + 48 // family, protocol, states; the socket
	diagState  = diagHeader + 1
	diagUID    = diagHeader + 4 + 48 + 12
	diagInode  = diagUID + 4
)

// States of a connection, of tcp_states.h.
const (
	established = 1
	closed      = 7
	listening   = 10
)

// diagRequest asks for the socket with these addresses: its own, and its peer's.
func diagRequest(own, peer netip.AddrPort, device uint32) []byte {
	b := make([]byte, diagAsk)
	native := binary.NativeEndian
	native.PutUint32(b, diagAsk)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	q := b[diagHeader:]
	q[0], q[1] = unix.AF_INET6, unix.IPPROTO_TCP
	native.PutUint32(q[4:], 1<<32-1) // in any state
	binary.BigEndian.PutUint16(q[8:], own.Port())
	binary.BigEndian.PutUint16(q[10:], peer.Port())
	source, destination := own.Addr().Unmap().AsSlice(), peer.Addr().Unmap().AsSlice()
	if len(source) == 4 {
		q[0] = unix.AF_INET
	}
	copy(q[12:], source)
	copy(q[28:], destination)
	native.PutUint32(q[44:], device)
	native.PutUint64(q[48:], 1<<64-1) // no cookie
	return b
}

// diagEnd returns the end of an answer, in any state but of a listener, which the kernel names if
// nothing else has the address. An end that its process has closed belongs to root there, and has no
// inode.
func diagEnd(b []byte) *end {
	native := binary.NativeEndian
	if len(b) < diagInode+4 || native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY || b[diagState] == listening {
		return nil
	}
	e := &end{uid: int(native.Uint32(b[diagUID:])), isHeld: native.Uint32(b[diagInode:]) != 0}
	e.isClosed = !e.isHeld && b[diagState] != established
	return e
}
