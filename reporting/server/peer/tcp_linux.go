package peer

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// UserOf returns the user whose process on this machine opened the other end of a TCP connection,
// as the kernel names it (sock_diag(7)). It returns false for other machines, for other kinds of
// connections, if the process has closed its end, and if the kernel does not answer: under
// systemd, the unit must allow AF_NETLINK.
func UserOf(conn net.Conn) (uid int, ok bool) {
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	local, _ := conn.LocalAddr().(*net.TCPAddr)
	if !isTCP || local == nil {
		return 0, false
	}
	isOurs := remote.IP.IsLoopback() || local.IP.IsLoopback() || remote.IP.Equal(local.IP)
	if !isOurs {
		return 0, false
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, diagRequest(remote.AddrPort(), local.AddrPort()), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false
	}
	var answer [256]byte
	n, _, err := unix.Recvfrom(fd, answer[:], unix.MSG_DONTWAIT) // the kernel answers within Sendto
	if err != nil {
		return 0, false
	}
	return diagUser(answer[:n])
}

// Offsets and values of the kernel's inet_diag.h, behind a header of netlink. Units: bytes.
const (
	diagHeader  = unix.NLMSG_HDRLEN
	diagAsk     = diagHeader + 8 + 48 // family, protocol, states; the socket
	diagState   = diagHeader + 1
	diagUID     = diagHeader + 4 + 48 + 12
	diagInode   = diagUID + 4
	established = 1
)

// diagRequest asks for the socket with these addresses: its own, and its peer's.
func diagRequest(own, peer netip.AddrPort) []byte {
	b := make([]byte, diagAsk)
	native := binary.NativeEndian
	native.PutUint32(b, diagAsk)
	native.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST)
	q := b[diagHeader:]
	q[0], q[1] = unix.AF_INET6, unix.IPPROTO_TCP
	native.PutUint32(q[4:], 1<<established)
	binary.BigEndian.PutUint16(q[8:], own.Port())
	binary.BigEndian.PutUint16(q[10:], peer.Port())
	source, destination := own.Addr().Unmap().AsSlice(), peer.Addr().Unmap().AsSlice()
	if len(source) == 4 {
		q[0] = unix.AF_INET
	}
	copy(q[12:], source)
	copy(q[28:], destination)
	native.PutUint64(q[48:], 1<<64-1) // no cookie
	return b
}

// diagUser returns the user of an answer. A socket that its process has closed belongs to root
// there, and has no inode.
func diagUser(b []byte) (uid int, ok bool) {
	native := binary.NativeEndian
	if len(b) < diagInode+4 || native.Uint16(b[4:]) != unix.SOCK_DIAG_BY_FAMILY || b[diagState] != established || native.Uint32(b[diagInode:]) == 0 {
		return 0, false
	}
	return int(native.Uint32(b[diagUID:])), true
}
