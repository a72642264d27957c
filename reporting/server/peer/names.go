package peer

import (
	"errors"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
)

const (
	nameLife = time.Minute // a changed name is seen after that
	maxNames = 1024
)

// Names is a cache of the users of the machine. A look-up may ask a directory on the
// network, so a result is kept for a minute. The zero value is ready for use. It is safe for
// concurrent use.
type Names struct {
	Lookup func(uid string) (*user.User, error)       // nil: user.LookupId
	Groups func(*user.User) (ids []string, err error) // nil: user.User.GroupIds

	mu    sync.Mutex
	known map[int]knownName
}

type knownName struct {
	name  string
	until time.Time
}

// Of returns the login name of a user, or "uid:N" if there is none or it cannot be the name
// of a reporter.
func (n *Names) Of(uid int) string {
	now := time.Now()
	n.mu.Lock()
	held, ok := n.known[uid]
	n.mu.Unlock()
	if ok && now.Before(held.until) {
		return held.name
	}
	u, err := n.lookup(uid)
	var unknown user.UnknownUserIdError
	switch {
	case err == nil && u.Username != "" && api.CheckReporter(u.Username) == nil:
		return n.keep(uid, u.Username, now)
	case err == nil, errors.As(err, &unknown):
		return n.keep(uid, UIDName(uid), now)
	case ok: // the directory does not answer: use the previous name
		return held.name
	}
	return UIDName(uid)
}

func (n *Names) keep(uid int, name string, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= maxNames {
		n.known = make(map[int]knownName)
	}
	n.known[uid] = knownName{name, now.Add(nameLife)}
	return name
}

func (n *Names) lookup(uid int) (*user.User, error) {
	if n.Lookup != nil {
		return n.Lookup(strconv.Itoa(uid))
	}
	return user.LookupId(strconv.Itoa(uid))
}

// IsMember reports whether a user is in a group by the system's files. It is for systems
// whose kernel does not return the groups of a process, and for what outlives a process. The result is
// not cached.
func (n *Names) IsMember(uid, gid int) bool {
	u, err := n.lookup(uid)
	if err != nil {
		return false
	}
	groupsOf := n.Groups
	if groupsOf == nil {
		groupsOf = (*user.User).GroupIds
	}
	groups, err := groupsOf(u)
	return err == nil && slices.Contains(groups, strconv.Itoa(gid))
}
