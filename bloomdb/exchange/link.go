package exchange

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Waits after a failure: doubled from the first to the last, each drawn between
// half and the whole, so that the sites of a federation do not come back to a
// restarted Redis in step.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

// backoff is the wait of one loop. The zero value is ready.
type backoff struct{ wait time.Duration }

// next is how long to wait after one more failure.
func (b *backoff) next() time.Duration {
	b.wait = min(max(2*b.wait, firstWait), lastWait)
	return b.wait/2 + rand.N(b.wait/2)
}

// succeeded forgets earlier failures.
func (b *backoff) succeeded() { b.wait = 0 }

// sleep returns false when ctx ends before d is over.
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

// link is what is known of the way to Redis.
type link struct {
	log *slog.Logger

	mu        sync.Mutex
	up        map[part]bool // absent: not tried yet
	told      map[part]bool // the log knows of the failure
	quiet     limiter
	lastError string
	lastFault time.Time
}

// works notes a success of a part.
func (l *link) works(p part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told[p] {
		l.log.Info("exchange works again", "part", p)
		delete(l.told, p)
	}
	l.set(p, true)
}

// failed notes a failure of a part. The log hears of the first in a row, and of a part
// that comes and goes once a minute.
func (l *link) failed(p part, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told[p] && l.quiet.allow(string(p)) {
		l.log.Warn("exchange fails, will be tried again", "part", p, "error", err)
		if l.told == nil {
			l.told = make(map[part]bool)
		}
		l.told[p] = true
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

// limiter lets the same thing through once a minute.
type limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Bounds of limiter. Who invents names fills the table, not the memory.
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
