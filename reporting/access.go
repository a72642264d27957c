package reporting

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// right is what an endpoint asks of its caller. Each one includes those before it.
type right int

const (
	toNothing right = iota
	toAsk
	toReport
	toAdministrate
)

// AccessOptions say who may do what through the control API. Root and the daemon's
// user may do everything, on the unix socket; nobody else administrates.
type AccessOptions struct {
	Group     string   // whose members may ask and report, by name; "": whoever can open the unix socket
	GID       int      // the number of Group
	Delegates []string // login names of programs that ask, report and speak for others
	DaemonUID int      // the daemon's user
}

// Access decides who may do what. It is safe for concurrent use.
type Access struct {
	options atomic.Pointer[AccessOptions] // nil: everybody may do everything
	names   names
}

// NewAccess returns the decisions that o asks for.
func NewAccess(o AccessOptions) *Access {
	a := &Access{}
	a.Reload(o)
	return a
}

// Reload changes what is allowed, from the next request on.
func (a *Access) Reload(o AccessOptions) { a.options.Store(&o) }

// Caller is who asks for something, and what they may do. The zero value is nobody
// and may do nothing.
type Caller struct {
	name   string
	origin Origin
	right  right
	others bool // may report in the name of others
	access *AccessOptions
}

// Name is the caller's login name, "uid:N" where the system knows none, or over TCP
// the client's; "unknown", and one reporter together, are those of whom the kernel tells
// nothing. It is a valid reporter, and empty only without access control.
func (c Caller) Name() string { return c.name }

// Origin is where the caller's words come from: "unix:UID" or "tcp:CLIENT"; empty
// where nobody knows.
func (c Caller) Origin() string { return c.origin.String() }

// MayReport says whether the caller may report and revoke.
func (c Caller) MayReport() bool { return c.right >= toReport }

// Administrates says whether the caller may do everything.
func (c Caller) Administrates() bool { return c.right >= toAdministrate }

// MaySpeakFor says whether the caller may report in a reporter's name: everybody
// may in their own.
func (c Caller) MaySpeakFor(reporter string) bool { return c.others || reporter == c.name }

// caller is who sent a request.
func (a *Access) caller(r *http.Request) Caller {
	origin := originOf(r.Context())
	c := Caller{name: a.nameOf(origin), origin: origin, access: a.options.Load()}
	switch o := c.access; {
	case o == nil:
		c.right, c.others = toAdministrate, true
	case origin.Client != "":
		c.right, c.others = toReport, true // a mail store, which has users of its own
	case !origin.Known:
		// Where the kernel tells nobody, that the socket could be opened is all there is.
		if o.Group == "" {
			c.right = toReport
		}
	case origin.UID == 0 || origin.UID == o.DaemonUID:
		c.right, c.others = toAdministrate, true
	case slices.Contains(o.Delegates, c.name):
		c.right, c.others = toReport, true
	case o.Group == "" || a.isMember(origin, o.GID):
		c.right = toReport
	}
	return c
}

func (a *Access) nameOf(o Origin) string {
	switch {
	case o.Client != "":
		return o.Client
	case o.Known:
		return a.names.of(o.UID)
	case a.options.Load() != nil:
		return unknownName
	}
	return ""
}

// isMember says whether a process has a group. The kernel's word counts where it
// gives one: it is what the file system goes by, too.
func (a *Access) isMember(o Origin, gid int) bool {
	if o.GID == gid {
		return true
	}
	if o.Groups != nil {
		return slices.Contains(o.Groups, gid)
	}
	return a.names.isMember(o.UID, gid)
}

// needs refuses what the caller may not do; nil if they may.
func (c Caller) needs(r right) *Problem {
	switch {
	case c.right >= r:
		return nil
	case c.right == toNothing:
		return newProblem(http.StatusForbidden, "%s may not use the control socket: it is for root, the daemon's user%s and delegates",
			c.called(), c.members())
	case c.origin.Client != "":
		return newProblem(http.StatusForbidden, "%s may not do this: a site is administrated on its own machine, by root and the daemon's user", c.called())
	}
	return newProblem(http.StatusForbidden, "%s may not do this: only root and the daemon's user administrate", c.called())
}

// trapPrefix begins the names of spam traps: no login name has a colon.
const trapPrefix = "trap:"

// TrapReporter is the reporter of a trap's mail. Only who administrates speaks for it
// through the API.
func TrapReporter(name string) string { return trapPrefix + name }

// speaksAs is the name in which the caller reports: their own where reporter is
// empty.
func (c Caller) speaksAs(reporter string) (string, *Problem) {
	if isOurs := strings.HasPrefix(foldReporter(reporter), trapPrefix); isOurs && !c.Administrates() {
		return "", c.mayNotSpeakFor(reporter, "that is a spam trap")
	}
	if reporter == "" || c.MaySpeakFor(reporter) {
		return cmp.Or(reporter, c.name), nil
	}
	return "", c.mayNotSpeakFor(reporter, "only root, the daemon's user and the delegates of [control] speak for others")
}

func (c Caller) mayNotSpeakFor(reporter, why string) *Problem {
	p := newProblem(http.StatusForbidden, "%s may not speak for %s: %s", c.called(), reporter, why)
	p.reporter = reporter
	return p
}

// Whoami says who the caller is to the daemon.
type Whoami struct {
	Name   string   `json:"name"`
	Origin string   `json:"origin"` // unix:UID or tcp:CLIENT
	May    []string `json:"may"`    // of ask, report, speak (for others), administrate
}

func (h *handler) whoami(r *http.Request) (any, error) {
	c := callerOf(r.Context())
	w := Whoami{Name: c.Name(), Origin: c.Origin(), May: []string{}}
	for _, m := range []struct {
		word string
		may  bool
	}{
		{"ask", c.right >= toAsk}, {"report", c.MayReport()}, {"speak", c.others}, {"administrate", c.Administrates()},
	} {
		if m.may {
			w.May = append(w.May, m.word)
		}
	}
	return w, nil
}

func (c Caller) called() string { return cmp.Or(c.name, unknownName) }

func (c Caller) members() string {
	if c.access == nil || c.access.Group == "" {
		return ""
	}
	return ", members of the group " + c.access.Group
}

type callerKey struct{}

func withCaller(r *http.Request, c Caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// callerOf is who sent a request that went through a handler of ours.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

const unknownName = "unknown"

// uidName is what a user is called who has no login name. No login name looks like
// that: a colon ends it in the system's files.
func uidName(uid int) string { return "uid:" + strconv.Itoa(uid) }
