package door

import "syscall"

// QuickAck requests that the kernel acknowledge the next data at once. The kernel drops
// this setting from time to time, so it is renewed before each read that waits. Without it
// packets are only delayed.
func QuickAck(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	})
}
