package socket

import "golang.org/x/sys/unix"

// setStall ends a listener's connections whose other end takes nothing of what was sent for so
// many milliseconds (TCP_USER_TIMEOUT, tcp(7)), also after the program has closed them.
func setStall(fd uintptr, milliseconds int) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
}

// setReceived bounds the bytes that a listener's connections have received and that are not read.
func setReceived(fd uintptr, n int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, n)
}
