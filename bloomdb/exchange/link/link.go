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
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
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

	mu        sync.Mutex
	published time.Time      // when this site last published; zero: not since the last fault
	echoed    time.Time      // when this site's own news last came back
	up        map[Part]bool  // absent: not tried yet
	faults    map[Part]Fault // of the parts that fail now
	logged    map[Part]Cause // of the failure that is in the log
	logLimit  Limiter
	lastError string
	lastFault time.Time
}

// New returns the state of a link that was not used yet.
func New(log *slog.Logger) *Link {
	return &Link{log: log, up: make(map[Part]bool), faults: make(map[Part]Fault), logged: make(map[Part]Cause)}
}

// Succeeded records a success of a part.
func (l *Link) Succeeded(p Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logged[p] != "" {
		l.log.Info("exchange recovered", "part", p)
		delete(l.logged, p)
	}
	delete(l.faults, p)
	l.up[p] = true
}

// Fault is a failure that lasts.
type Fault struct {
	Cause Cause  `json:"cause"`
	Error string `json:"error"`
}

// Failed records a failure of a part. Of failures in a row it logs the first one of each
// cause, and of an intermittent part at most one a minute and cause: a wrong password after
// a restart of Redis is logged although the lost connection was.
func (l *Link) Failed(p Part, err error) {
	cause, text := CauseOf(err), redisclient.WithoutArguments(err.Error())
	l.mu.Lock()
	defer l.mu.Unlock()
	if p == Publish {
		l.published = time.Time{}
	}
	if l.logged[p] != cause && l.logLimit.Allow(string(p)+" "+string(cause)) {
		l.log.Warn("exchange failed, retrying", "part", p, "cause", cause, "error", text, "advice", cause.Advice())
		l.logged[p] = cause
	}
	l.up[p] = false
	l.faults[p] = Fault{cause, text}
	l.lastError, l.lastFault = string(p)+": "+text, time.Now()
}

// Fault returns the failure that lasts, of the first part that has one: publish, subscribe,
// read. It returns nil if there is none.
func (l *Link) Fault() *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range []Part{Publish, Subscribe, Read} {
		if f, ok := l.faults[p]; ok {
			return &f
		}
	}
	return nil
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
func (l *Link) Published() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.published = time.Now()
}

// Echoed records that news of this site have come back, or that a subscription begins.
func (l *Link) Echoed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.echoed = time.Now()
}

// Silence returns how long this site's own news have not come back although Redis accepted
// them, by the monotonic clock. It is negative if they have.
func (l *Link) Silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.published.IsZero() {
		return 0
	}
	return l.published.Sub(l.echoed)
}
