// Package uploads bounds how many messages of users are read at once.
// It has one lock, which is held for a look into a table.
package uploads

import "sync"

// maxUploads is the number of messages of users that are read and signed at once.
const maxUploads = 2

// Most is the number of messages that are read at once: with those of root and the daemon's user.
const Most = maxUploads + 2

// Places are the users whose messages are being read and signed: one message of each, so that
// no user can take all places. Administrators have their own. It is safe for concurrent use;
// the zero value is ready.
type Places struct {
	mu    sync.Mutex
	of    map[string]bool
	users int // without administrators
}

// Enter takes a place for a user, which leave frees. ok is false if there is none.
func (u *Places) Enter(name string, administrates bool) (leave func(), ok bool) {
	counted := 1
	if administrates {
		counted = 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[name] || u.users+counted > maxUploads {
		return nil, false
	}
	if u.of == nil {
		u.of = make(map[string]bool)
	}
	u.of[name], u.users = true, u.users+counted
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.of, name)
		u.users -= counted
	}, true
}
