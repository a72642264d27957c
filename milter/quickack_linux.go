package milter

import "syscall"

// quickAck lets the kernel acknowledge what comes next at once. The kernel
// forgets the wish now and then, so it is made before each read that waits; if
// it is not heard, packets are late and nothing else.
func quickAck(raw syscall.RawConn) {
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	})
}
