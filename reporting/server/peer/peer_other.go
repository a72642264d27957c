//go:build !linux

package peer

import (
	"net"

	"github.com/spambloom/spambloom/reporting/desk"
)

// Of returns an unknown origin: outside Linux, the process that connected is not asked for.
func Of(net.Conn) desk.Origin { return desk.Origin{} }

// UserOf returns false: outside Linux, the system is not asked.
func UserOf(net.Conn) (uid int, ok bool) { return 0, false }
