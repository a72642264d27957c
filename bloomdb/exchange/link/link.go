// Package link is the state of the link to Redis, which the loops of the exchange share:
// which parts of it work, whether published news come back, and how long a loop waits after
// a failure.
//
// It owns the log lines about failing and recovering, and the rate limit of repeated log
// lines. It does not connect, and starts no goroutine. Its locks are held for its own
// fields only, and taken last.
package link

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Part is one of the three users of the link.
type Part string

const (
	Publish   Part = "publish"
	Subscribe Part = "subscribe"
	Read      Part = "read"
)

// Link is the state of the connection to Redis. It is safe for concurrent use.
type Link struct {
	log *slog.Logger

	publishedAt atomic.Int64 // when this site last published, Unix nanoseconds; 0: not since the last fault
	echoedAt    atomic.Int64 // when this site's own news last came back, Unix nanoseconds

	mu        sync.Mutex
	up        map[Part]bool // absent: not tried yet
	isLogged  map[Part]bool // the failure is in the log
	logLimit  Limiter
	lastError string
	lastFault time.Time
}

// New returns the state of a link that was not used yet.
func New(log *slog.Logger) *Link {
	return &Link{log: log, up: make(map[Part]bool), isLogged: make(map[Part]bool)}
}

// Succeeded records a success of a part.
func (l *Link) Succeeded(p Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isLogged[p] {
		l.log.Info("exchange recovered", "part", p)
		delete(l.isLogged, p)
	}
	l.up[p] = true
}

// Failed records a failure of a part. It logs the first failure in a row, and at most one a
// minute for an intermittent part.
func (l *Link) Failed(p Part, err error) {
	if p == Publish {
		l.publishedAt.Store(0)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isLogged[p] && l.logLimit.Allow(string(p)) {
		l.log.Warn("exchange failed, retrying", "part", p, "error", err)
		l.isLogged[p] = true
	}
	l.up[p] = false
	l.lastError, l.lastFault = string(p)+": "+err.Error(), time.Now()
}

// IsConnected reports whether the last attempt of every part succeeded.
func (l *Link) IsConnected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up[Publish] && l.up[Subscribe] && l.up[Read]
}

// LastFault returns the last failure and its time, even if it was overcome; "": none.
func (l *Link) LastFault() (text string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastError, l.lastFault
}

// Published records that Redis has accepted news of this site.
func (l *Link) Published() { l.publishedAt.Store(time.Now().UnixNano()) }

// Echoed records that news of this site have come back, or that a subscription begins.
func (l *Link) Echoed() { l.echoedAt.Store(time.Now().UnixNano()) }

// Silence returns how long this site's own news have not come back although Redis accepted
// them. It is negative if they have.
func (l *Link) Silence() time.Duration {
	published := l.publishedAt.Load()
	if published == 0 {
		return 0
	}
	return time.Duration(published - l.echoedAt.Load())
}
