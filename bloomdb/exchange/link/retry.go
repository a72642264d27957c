package link

import (
	"context"
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

// Backoff is the wait of one loop. The zero value is ready for use.
type Backoff struct{ wait time.Duration }

// Next returns the wait after one more failure.
func (b *Backoff) Next() time.Duration {
	b.wait = min(max(2*b.wait, firstWait), lastWait)
	return b.wait/2 + rand.N(b.wait/2)
}

// Succeeded resets the wait.
func (b *Backoff) Succeeded() { b.wait = 0 }

// Sleep returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Limiter allows the same event once a minute. The zero value is ready for use. It is safe
// for concurrent use.
type Limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Bounds of Limiter. Invented names fill the table, not the memory.
const (
	limiterPeriod = time.Minute
	limiterSize   = 4096
)

// Allow reports whether what was not allowed in the last minute.
func (l *Limiter) Allow(what string) bool {
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
