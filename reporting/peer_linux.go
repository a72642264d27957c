package reporting

import (
	"net"
	"syscall"
)

// peerOf asks the kernel who connected (SO_PEERCRED, unix(7)).
func peerOf(conn net.Conn) Origin {
	uc, ok := conn.(*net.UnixConn)
	if !ok {
		return Origin{}
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return Origin{}
	}
	var o Origin
	_ = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			o = Origin{UID: int(cred.Uid), PID: int(cred.Pid), Known: true}
		}
	})
	return o
}
