package socket

import (
	"errors"

	"golang.org/x/sys/unix"
)

// setStall ends a listener's connections whose other end takes nothing of what was sent for so
// many milliseconds (TCP_USER_TIMEOUT, tcp(7)), also after the program has closed them.
func setStall(fd uintptr, milliseconds int) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
}

// setBuffers bounds the bytes that a listener's connections have received and that are not read, and those
// that were sent and not taken.
func setBuffers(fd uintptr, received, sent int) error {
	return errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, received),
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sent))
}

// isListening reports whether a socket listens, for connections that are streams.
func isListening(fd uintptr) bool {
	kind, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
	listens, err2 := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && err2 == nil && kind == unix.SOCK_STREAM && listens != 0
}
