// Package loglimit bounds the log lines that others can cause.
package loglimit

import (
	"sync"
	"time"
)

// period is the time between two log lines of one kind.
const period = time.Minute

// Minutely allows one log line of each kind in a minute, so that no client fills the log.
// The table has no bound, because all kinds are constants of the program. The zero value
// is ready for use. It is safe for concurrent use.
type Minutely struct {
	mu sync.Mutex
	of map[string]throttled
}

type throttled struct {
	logged time.Time
	since  int // events since logged
}

// Take counts an event. It returns the number of events since the last line, including
// this one, if another line may be logged now; else 0.
func (t *Minutely) Take(kind string) (events int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, k := time.Now(), t.of[kind]
	k.since++
	if k.logged.IsZero() || now.Sub(k.logged) >= period {
		events, k = k.since, throttled{logged: now}
	}
	if t.of == nil {
		t.of = make(map[string]throttled)
	}
	t.of[kind] = k
	return events
}
