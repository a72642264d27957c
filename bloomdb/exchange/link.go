package exchange

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Waits after a failure. They double from the first to the last, and each is drawn between
// half and the whole, so that the sites of a federation do not reconnect to a restarted
// Redis at the same time.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

// backoff is the wait of one loop. The zero value is ready for use.
type backoff struct{ wait time.Duration }

// next returns the wait after one more failure.
func (b *backoff) next() time.Duration {
	b.wait = min(max(2*b.wait, firstWait), lastWait)
	return b.wait/2 + rand.N(b.wait/2)
}

// succeeded resets the wait.
func (b *backoff) succeeded() { b.wait = 0 }

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// part is one of the three users of the link to Redis.
type part string

const (
	partPublish   part = "publish"
	partSubscribe part = "subscribe"
	partRead      part = "read"
)

// link is the state of the connection to Redis.
type link struct {
	log *slog.Logger

	mu        sync.Mutex
	up        map[part]bool // absent: not tried yet
	isLogged  map[part]bool // the failure is in the log
	logLimit  limiter
	lastError string
	lastFault time.Time
}

// succeeded records a success of a part.
func (l *link) succeeded(p part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isLogged[p] {
		l.log.Info("exchange recovered", "part", p)
		delete(l.isLogged, p)
	}
	l.set(p, true)
}

// failed records a failure of a part. It logs the first failure in a row, and at most one a
// minute for an intermittent part.
func (l *link) failed(p part, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isLogged[p] && l.logLimit.allow(string(p)) {
		l.log.Warn("exchange failed, retrying", "part", p, "error", err)
		if l.isLogged == nil {
			l.isLogged = make(map[part]bool)
		}
		l.isLogged[p] = true
	}
	l.set(p, false)
	l.lastError, l.lastFault = string(p)+": "+err.Error(), time.Now()
}

func (l *link) set(p part, up bool) {
	if l.up == nil {
		l.up = make(map[part]bool)
	}
	l.up[p] = up
}

func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up[partPublish] && l.up[partSubscribe] && l.up[partRead]
}

// limiter allows the same event once a minute.
type limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Bounds of limiter. Invented names fill the table, not the memory.
const (
	limiterPeriod = time.Minute
	limiterSize   = 4096
)

func (l *limiter) allow(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if last, ok := l.last[what]; ok && now.Sub(last) < limiterPeriod {
		return false
	}
	if l.last == nil || len(l.last) >= limiterSize {
		l.last = make(map[string]time.Time)
	}
	l.last[what] = now
	return true
}
