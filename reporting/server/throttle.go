package server

import (
	"sync"
	"time"
)

// throttlePeriod is the time between two log lines of one kind.
const throttlePeriod = time.Minute

// throttle allows one log line of each kind in a minute, so that no client fills the log.
// The table has no bound, because all kinds are constants of the program. The zero value
// is ready for use. It is safe for concurrent use.
type throttle struct {
	mu sync.Mutex
	of map[string]throttled
}

type throttled struct {
	logged time.Time
	since  int // events since logged
}

// take counts an event. It returns the number of events since the last line, including
// this one, if another line may be logged now; else 0.
func (t *throttle) take(kind string) (events int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, k := time.Now(), t.of[kind]
	k.since++
	if k.logged.IsZero() || now.Sub(k.logged) >= throttlePeriod {
		events, k = k.since, throttled{logged: now}
	}
	if t.of == nil {
		t.of = make(map[string]throttled)
	}
	t.of[kind] = k
	return events
}
