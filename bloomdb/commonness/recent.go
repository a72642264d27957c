package commonness

import "sync"

// recent maps the latest messages of proven senders to their domains, by hashes, so that a report
// of one is known to be a report of its sender's mail. A newer message replaces an older one with
// the same place. It is in memory only: after a restart, reports of earlier mail are not held
// against its sender.
type recent struct {
	mu     sync.Mutex
	places [1 << 15]struct{ message, sender uint64 }
}

func (r *recent) note(message, sender uint64) {
	if message == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.places[message%uint64(len(r.places))]
	p.message, p.sender = message, sender
}

func (r *recent) senderOf(message uint64) (sender uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[message%uint64(len(r.places))]
	return p.sender, message != 0 && p.message == message
}
