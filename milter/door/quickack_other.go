//go:build !linux

package milter

import "syscall"

// quickAck has no counterpart outside Linux.
func quickAck(syscall.RawConn) {}
