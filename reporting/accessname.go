package reporting

import (
	"errors"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	nameLife = time.Minute // a name that was changed is seen after that
	maxNames = 1024
)

// names knows the users of the machine. To look one up may mean to ask a directory
// on the network, so what was found is kept for a minute. The zero value is ready
// for use, and safe for concurrent use.
type names struct {
	lookup func(uid string) (*user.User, error) // nil: user.LookupId

	mu    sync.Mutex
	known map[int]knownName
}

type knownName struct {
	name  string
	until time.Time
}

// of is the login name of a user, or "uid:N" where there is none, or one that is no
// reporter's.
func (n *names) of(uid int) string {
	now := time.Now()
	n.mu.Lock()
	held, ok := n.known[uid]
	n.mu.Unlock()
	if ok && now.Before(held.until) {
		return held.name
	}
	lookup := n.lookup
	if lookup == nil {
		lookup = user.LookupId
	}
	u, err := lookup(strconv.Itoa(uid))
	var unknown user.UnknownUserIdError
	switch {
	case err == nil && u.Username != "" && CheckReporter(u.Username) == nil:
		return n.keep(uid, u.Username, now)
	case err == nil, errors.As(err, &unknown):
		return n.keep(uid, uidName(uid), now)
	case ok: // the directory is away: the name of before is the best that there is
		return held.name
	}
	return uidName(uid)
}

func (n *names) keep(uid int, name string, now time.Time) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= maxNames {
		n.known = make(map[int]knownName)
	}
	n.known[uid] = knownName{name, now.Add(nameLife)}
	return name
}

// isMember says whether a user is in a group by the system's files. It is for systems
// whose kernel does not tell the groups of a process, and not kept.
func (n *names) isMember(uid, gid int) bool {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return false
	}
	groups, err := u.GroupIds()
	return err == nil && slices.Contains(groups, strconv.Itoa(gid))
}
