package server

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/server/peer"
)

// right is what an endpoint requires of its caller. Each right includes those before it.
type right int

const (
	noRight right = iota
	askRight
	reportRight
	adminRight
)

// AccessOptions are the options of an Access. Root and the daemon's user have every right
// on the unix socket. Nobody else administrates.
type AccessOptions struct {
	Group     string   // its members may ask and report, by name; empty: every user who can open the unix socket
	GID       int      // the number of Group
	Delegates []string // login names of programs that may ask, and report for others
	DaemonUID int      // the daemon's user
}

// Access decides on the rights of callers. It is safe for concurrent use. The zero value
// gives every right to everybody.
type Access struct {
	options atomic.Pointer[AccessOptions]
	names   peer.Names
}

// NewAccess returns an Access with these options.
func NewAccess(o AccessOptions) *Access {
	a := &Access{}
	a.Reload(o)
	return a
}

// Reload replaces the options for all requests from now on.
func (a *Access) Reload(o AccessOptions) { a.options.Store(&o) }

// caller is the sender of a request, with its rights.
type caller struct {
	// name is the login name, "uid:N" if the system has none, or over TCP the client's
	// name. All callers whom the kernel does not name are "unknown". It is a valid
	// reporter, and empty only without access control.
	name   string
	origin desk.Origin

	right     right
	forOthers bool // may report in the names of others
	access    *AccessOptions
}

// caller returns the sender of a request.
func (a *Access) caller(r *http.Request) caller {
	origin := originOf(r.Context())
	c := caller{name: a.nameOf(origin), origin: origin, access: a.options.Load()}
	switch o := c.access; {
	case o == nil:
		c.right, c.forOthers = adminRight, true
	case origin.Client != "":
		c.right, c.forOthers = reportRight, true // a mail store, which has users of its own
	case !origin.Known:
		// The system does not name peers. It has let the caller open the socket.
		if o.Group == "" {
			c.right = reportRight
		}
	case origin.UID == 0 || origin.UID == o.DaemonUID:
		c.right, c.forOthers = adminRight, true
	case slices.Contains(o.Delegates, c.name), slices.Contains(o.Delegates, "uid:"+strconv.Itoa(origin.UID)):
		c.right, c.forOthers = reportRight, true
	case o.Group == "" || a.isMember(origin, o.GID):
		c.right = reportRight
	}
	return c
}

func (a *Access) nameOf(o desk.Origin) string {
	switch {
	case o.Client != "":
		return o.Client
	case o.Known:
		return a.names.Of(o.UID)
	case a.options.Load() != nil:
		return unknownName
	}
	return ""
}

// isMember reports whether a process has a group. The kernel's list counts if there is one,
// because file permissions depend on it, too.
func (a *Access) isMember(o desk.Origin, gid int) bool {
	if o.GID == gid {
		return true
	}
	if o.Groups != nil {
		return slices.Contains(o.Groups, gid)
	}
	return a.names.IsMember(o.UID, gid)
}

// lasting returns the origin of a session, which may outlive its process. The user's membership in the
// group is then looked up for each request, unless the process had the group in another way, such as by
// a directory that this program does not read.
func (a *Access) lasting(o desk.Origin) desk.Origin {
	if options := a.options.Load(); options != nil && options.Group != "" && o.Known && a.names.IsMember(o.UID, options.GID) {
		o.GID, o.Groups = noGroup, nil
	}
	return o
}

// noGroup is the number of no group.
const noGroup = -1

// may reports whether the caller has a right.
func (c caller) may(r right) bool { return c.right >= r }

// mayReportFor reports whether the caller may report in a reporter's name.
func (c caller) mayReportFor(reporter string) bool { return c.forOthers || reporter == c.name }

// needs returns a problem if the caller lacks a right, else nil.
func (c caller) needs(r right) *api.Problem {
	switch {
	case c.may(r):
		return nil
	case c.right == noRight:
		return api.NewProblem(http.StatusForbidden, "%s may not use the control socket: it is for root, the daemon's user%s and delegates",
			c.called(), c.members())
	case c.origin.Client != "":
		return api.NewProblem(http.StatusForbidden, "%s may not do this: a site is administrated on its own machine, by root and the daemon's user", c.called())
	}
	return api.NewProblem(http.StatusForbidden, "%s may not do this: only root and the daemon's user administrate", c.called())
}

// impostor is the refusal of a report in another reporter's name. The log has the name
// apart, so that it can be hidden there.
type impostor struct {
	*api.Problem
	reporter string
}

func (i impostor) Unwrap() error { return i.Problem }

// reporter returns the name under which the caller reports: its own if the request has no
// name.
func (c caller) reporter(name string) (string, error) {
	why := ""
	switch {
	case desk.IsTrap(name) && !c.may(adminRight):
		why = "that is a spam trap"
	case desk.IsSame(name, api.Settler):
		why = "administrators settle messages with spambloom settle"
	case name != "" && !c.mayReportFor(name):
		why = "only root, the daemon's user and the delegates of [control] speak for others"
	default:
		return cmp.Or(name, c.name), nil
	}
	return "", impostor{api.NewProblem(http.StatusForbidden, "%s may not speak for %s: %s", c.called(), name, why), name}
}

// isReporter reports whether a reporter's name is the caller's.
func (c caller) isReporter(name string) bool { return desk.IsSame(name, c.name) }

func (c caller) author() desk.Author { return desk.Author{Name: c.name, Origin: c.origin} }

func (c caller) whoami() api.Whoami {
	w := api.Whoami{Name: c.name, Origin: c.origin.String(), May: []string{}}
	for _, m := range []struct {
		word string
		may  bool
	}{
		{"ask", c.may(askRight)}, {"report", c.may(reportRight)}, {"speak", c.forOthers}, {"administrate", c.may(adminRight)},
	} {
		if m.may {
			w.May = append(w.May, m.word)
		}
	}
	return w
}

// unknownName names a caller whom the kernel does not name.
const unknownName = "unknown"

func (c caller) called() string { return cmp.Or(c.name, unknownName) }

func (c caller) members() string {
	if c.access == nil || c.access.Group == "" {
		return ""
	}
	return ", members of the group " + c.access.Group
}
