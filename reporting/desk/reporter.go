package desk

import (
	"log/slog"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
)

// Anonymous is the reporter of a report without a name.
const Anonymous = "anonymous"

// IsSame reports whether two names are those of one reporter.
func IsSame(a, b string) bool { return api.FoldReporter(a) == api.FoldReporter(b) }

// trapPrefix begins the names of spam traps. No login name has a colon.
const trapPrefix = "trap:"

// TrapReporter returns the reporter of a spam trap's mail.
func TrapReporter(name string) string { return trapPrefix + name }

// IsTrap reports whether a reporter is a spam trap.
func IsTrap(reporter string) bool {
	return len(reporter) >= len(trapPrefix) && strings.EqualFold(reporter[:len(trapPrefix)], trapPrefix) // a name may be too long to be folded
}

// Origin is the source of a request: a process at the other end of the unix socket, as the
// kernel describes it, or a client over TCP. The zero value is an unknown source.
type Origin struct {
	UID, GID, PID int
	Groups        []int       // supplementary ones; nil if the kernel does not return them
	Known         bool        // the kernel has named a process
	Client        string      // the name that a client over TCP has proven; empty for others
	Holds         func() bool // reports whether the client may still be let in, for sessions; nil: always
}

// String returns unix:UID or tcp:CLIENT, or the empty string for an unknown source.
func (o Origin) String() string {
	switch {
	case o.Client != "":
		return "tcp:" + o.Client
	case o.Known:
		return "unix:" + strconv.Itoa(o.UID)
	}
	return ""
}

// Attr returns the origin for a log line. It is empty for an unknown source.
func (o Origin) Attr() slog.Attr {
	switch {
	case o.Client != "":
		return slog.Group("origin", "client", o.Client)
	case o.Known:
		return slog.Group("origin", "uid", o.UID, "pid", o.PID)
	}
	return slog.Attr{}
}

// Author is the person or program that ordered a change, for the log.
type Author struct {
	Name   string
	Origin Origin
}
