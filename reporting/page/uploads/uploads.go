// Package uploads bounds how many messages of users are read at once.
// It has one lock, which is held for a look into a table.
package uploads

import (
	"net/http"
	"sync"
	"time"
)

// maxUploads is the number of messages of users that are read and signed at once.
const maxUploads = 2

// Most is the number of messages that are read at once: with those of root and the daemon's user.
const Most = maxUploads + 2

// Bounds of a place while another user wants it.
const (
	patience = 5 * time.Second // a message gives its place up if those of its user have been under way for longer
	memory   = time.Minute     // within this time; and so long, those of such a user do so at once
	parting  = time.Second     // a place is free so soon after that
)

// Places are the users whose messages are being read and signed: one message of each, so that
// no user can take all places. Nor can a few users who send slowly, or one message after another, or who do
// not read the answers: what is under way for long gives its place up to another user. Administrators have
// their own. It is safe for concurrent use; the zero value is ready.
type Places struct {
	mu    sync.Mutex
	of    map[string]*Place
	users int // without administrators
	spent map[string]spent
}

// spent is how long messages of a user have been arriving, and answers to them were sent.
type spent struct {
	time  time.Duration
	since time.Time // when the first one had arrived, or the user became slow
}

// Place is the place of one message. Its user calls Read when the message is read, Answer before a long answer
// is sent, and Leave at the end.
type Place struct {
	of       *Places
	name     string
	counted  int
	since    time.Time           // of what is under way
	from     http.ResponseWriter // of the request; nil: nothing is under way, or the place was given up
	isAnswer bool                // the answer is under way, not the message
	isLost   bool                // it was given up
	left     chan struct{}       // closed by Leave
}

// uploadTime is how long a user may take to send a message. The listener allows less, for
// requests that have no body: a large message takes longer through a forwarded port.
const uploadTime = time.Minute

// AllowTime allows the request of w to take as long as a message does. It is called before Enter.
func AllowTime(w http.ResponseWriter) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(uploadTime)) // else those of the listener
	_ = conn.SetWriteDeadline(time.Now().Add(2 * uploadTime))
}

// Enter takes a place for the request of w, of a user. It returns nil if there is none. If the place has
// to be given up, the reading of the request, or the writing of the answer, ends with an error.
func (u *Places) Enter(w http.ResponseWriter, name string, administrates bool) *Place {
	p := &Place{of: u, name: name, counted: 1, since: time.Now(), from: w, left: make(chan struct{})}
	if administrates {
		p.counted = 0
	}
	ok, slow := u.enter(p)
	if slow != nil {
		select {
		case <-slow.left:
		case <-time.After(parting):
		}
		u.mu.Lock()
		ok = u.take(p)
		u.mu.Unlock()
	}
	if !ok {
		return nil
	}
	return p
}

// enter takes a place if there is one. Otherwise it returns the one that is given up for it; nil: none.
func (u *Places) enter(p *Place) (ok bool, slow *Place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.take(p) {
		return true, nil
	}
	if u.of[p.name] != nil {
		return false, nil
	}
	return false, u.reclaim(p)
}

// take takes a place if there is one. The caller holds mu.
func (u *Places) take(p *Place) bool {
	if u.of[p.name] != nil || u.users+p.counted > maxUploads {
		return false
	}
	if u.of == nil {
		u.of, u.spent = make(map[string]*Place), make(map[string]spent)
	}
	u.of[p.name], u.users = p, u.users+p.counted
	return true
}

// reclaim breaks off the oldest slow message, unless who wants its place is slow as well. The caller holds mu.
func (u *Places) reclaim(wanted *Place) (slow *Place) {
	for name, s := range u.spent {
		if time.Since(s.since) >= memory {
			delete(u.spent, name)
		}
	}
	if u.spent[wanted.name].time >= patience {
		return nil
	}
	for _, p := range u.of {
		isSlow := time.Since(p.since)+u.spent[p.name].time >= patience
		if p.counted > 0 && p.from != nil && isSlow && (slow == nil || p.since.Before(slow.since)) {
			slow = p
		}
	}
	if slow != nil {
		conn := http.NewResponseController(slow.from)
		if slow.isAnswer {
			_ = conn.SetWriteDeadline(time.Now())
		} else {
			_ = conn.SetReadDeadline(time.Now())
		}
		slow.isLost = true
		slow.arrived()
	}
	return slow
}

// arrived records that the message is read, or the answer sent, or no longer. The caller holds mu.
func (p *Place) arrived() {
	if p.from == nil {
		return
	}
	p.from = nil
	s := p.of.spent[p.name]
	if time.Since(s.since) >= memory {
		s = spent{since: time.Now()}
	}
	if s.time += time.Since(p.since); s.time >= patience {
		s.since = time.Now()
	}
	p.of.spent[p.name] = s
}

// Read ends the time in which the place can be given up. It reports false if it was.
func (p *Place) Read() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.arrived()
	return !p.isLost
}

// Answer begins another time in which the place can be given up: while the answer is sent by w. Who does not
// read it would keep the place.
func (p *Place) Answer(w http.ResponseWriter) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.from, p.since, p.isAnswer = w, time.Now(), true
}

// Leave frees the place.
func (p *Place) Leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.arrived()
	delete(p.of.of, p.name)
	p.of.users -= p.counted
	close(p.left)
}
