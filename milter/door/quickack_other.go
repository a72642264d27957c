//go:build !linux

package door

import "syscall"

// QuickAck has no counterpart outside Linux.
func QuickAck(syscall.RawConn) {}
