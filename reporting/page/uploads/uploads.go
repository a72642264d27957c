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

	claim = 10 * time.Second // for so long, who found no place comes before users who have been slow
)

// Places are the users whose messages are being read and signed: one message of each, so that
// no user can take all places. Nor can a few users who send slowly, or one message after another, or who do
// not read the answers: what is under way for long gives its place up to another user, and what is signed is the
// last one while another user waits. Administrators have their own. It is safe for concurrent use; the zero
// value is ready.
type Places struct {
	mu     sync.Mutex
	of     map[string]*Place
	users  int // without administrators
	spent  map[string]spent
	wanted struct { // by the latest user who found no place, and was not slow
		by string // empty: nobody
		at time.Time
	}
}

// spent is how long messages of a user have had places.
type spent struct {
	time  time.Duration
	since time.Time // when the first one had arrived, or the user became slow; later if it stays so
}

// Place is the place of one message. Its user calls Read when the message is read, Answer before a long answer
// is sent, and Leave at the end.
type Place struct {
	of       *Places
	name     string
	counted  int
	since    time.Time           // not yet in Places.spent
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
	p := &Place{of: u, name: name, counted: 1, from: w, left: make(chan struct{})}
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

// enter takes a place if there is one. Otherwise it returns the one that is soon free for it; nil: none.
func (u *Places) enter(p *Place) (ok bool, slow *Place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.take(p) {
		return true, nil
	}
	if u.of[p.name] != nil || u.isSlow(p.name) {
		return false, nil
	}
	u.wanted.by, u.wanted.at = p.name, time.Now()
	return false, u.reclaim()
}

// isSlow reports whether messages of a user have had places for long. The caller holds mu.
func (u *Places) isSlow(name string) bool {
	s := u.spent[name]
	return s.time >= patience && time.Since(s.since) < memory
}

// isClaimed reports whether another user comes before this one. The caller holds mu.
func (u *Places) isClaimed(name string) bool {
	return u.wanted.by != "" && u.wanted.by != name && time.Since(u.wanted.at) < claim && u.isSlow(name)
}

// take takes a place if there is one. The caller holds mu.
func (u *Places) take(p *Place) bool {
	if u.of[p.name] != nil || u.users+p.counted > maxUploads || p.counted > 0 && u.users+p.counted == maxUploads && u.isClaimed(p.name) {
		return false
	}
	if u.wanted.by == p.name {
		u.wanted.by = ""
	}
	if u.of == nil {
		u.of, u.spent = make(map[string]*Place), make(map[string]spent)
	}
	u.of[p.name], u.users, p.since = p, u.users+p.counted, time.Now()
	return true
}

// reclaim breaks off the oldest slow message, or chooses one of a slow user that is signed and has its place
// for a moment more. The caller holds mu.
func (u *Places) reclaim() (slow *Place) {
	for name, s := range u.spent {
		if time.Since(s.since) >= memory {
			delete(u.spent, name)
		}
	}
	for _, p := range u.of {
		isSlow := time.Since(p.since)+u.spent[p.name].time >= patience
		if p.counted > 0 && isSlow && (slow == nil || p.goesBefore(slow)) {
			slow = p
		}
	}
	if slow == nil || slow.from == nil {
		return slow
	}
	conn := http.NewResponseController(slow.from)
	if slow.isAnswer {
		_ = conn.SetWriteDeadline(time.Now())
	} else {
		_ = conn.SetReadDeadline(time.Now())
	}
	slow.isLost, slow.from = true, nil
	slow.spend()
	return slow
}

// goesBefore reports whether the place is given up rather than another one: it can be taken back at once, or is older.
func (p *Place) goesBefore(other *Place) bool {
	if isNow := p.from != nil; isNow != (other.from != nil) {
		return isNow
	}
	return p.since.Before(other.since)
}

// spend records how long the message has had its place. The caller holds mu.
func (p *Place) spend() {
	s, now := p.of.spent[p.name], time.Now()
	if now.Sub(s.since) >= memory {
		s = spent{since: now}
	}
	took := now.Sub(p.since)
	if s.time >= patience { // each further five seconds extend that by a minute
		s.since = s.since.Add(min(took*(memory/patience), now.Sub(s.since)))
	} else if s.time+took >= patience {
		s.since = now
	}
	s.time += took
	p.of.spent[p.name], p.since = s, now
}

// Read ends the time in which the place can be given up. It reports false if it was.
func (p *Place) Read() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.spend()
	p.from = nil
	return !p.isLost
}

// Answer begins another time in which the place can be given up: while the answer is sent by w. A client that does
// not read it would keep the place.
func (p *Place) Answer(w http.ResponseWriter) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.spend()
	p.from, p.isAnswer = w, true
}

// Leave frees the place.
func (p *Place) Leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.spend()
	delete(p.of.of, p.name)
	p.of.users -= p.counted
	close(p.left)
}
