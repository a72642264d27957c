package commonness

import (
	"sync"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

const (
	recentPlaces = 16 // of a group
	recentGroups = 1 << 11
	recentOfOne  = recentPlaces / 2 // places of a group that one message can have
)

// recent maps the latest messages of proven senders to their domains, by hashes, so that a report
// of one is known to be a report of its senders' mail. It is in memory only: after a restart, reports of
// earlier mail are not held against its senders.
//
// A sender chooses his messages' digests, and can send a text from many domains. So the group of a message
// depends on a secret, and a message has several senders. Among more than recentOfOne of them, one
// that this site knows is not replaced by one that it does not know.
type recent struct {
	secret uint64
	mu     sync.Mutex
	groups [recentGroups][recentPlaces]sighting // latest first
}

// sighting is one sender of one message.
type sighting struct{ message, sender uint64 }

func (r *recent) group(message uint64) *[recentPlaces]sighting {
	return &r.groups[filter.Mix(message^r.secret)%recentGroups]
}

// note records a sender of a message. It asks knows only if the message has too many senders.
func (r *recent) note(message, sender uint64, knows func(sender uint64) bool) {
	if message == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.group(message)
	if at, ok := placeFor(g, sighting{message, sender}, knows); ok {
		copy(g[1:at+1], g[:at])
		g[0] = sighting{message, sender}
	}
}

// placeFor returns the place that a sighting takes: its own of before, else the oldest, else of a message
// with too many senders that of the oldest one that is not known. ok is false if the sender is not known and
// all others are.
func placeFor(g *[recentPlaces]sighting, s sighting, knows func(sender uint64) bool) (at int, ok bool) {
	of, oldest := 0, 0
	for i, p := range g {
		if p == s {
			return i, true
		}
		if p.message == s.message {
			of, oldest = of+1, i
		}
	}
	if of < recentOfOne {
		return recentPlaces - 1, true
	}
	for i := recentPlaces - 1; i >= 0; i-- {
		if g[i].message == s.message && !knows(g[i].sender) {
			return i, true
		}
	}
	return oldest, knows(s.sender)
}

// sendersOf returns the senders of a message.
func (r *recent) sendersOf(message uint64) (senders []uint64) {
	if message == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.group(message) {
		if p.message == message {
			senders = append(senders, p.sender)
		}
	}
	return senders
}
