package reporting

import (
	"sync"
	"time"
)

// throttlePeriod is the time between two log lines of one kind.
const throttlePeriod = time.Minute

// throttle lets one log line of a kind through in a minute, so that no client fills the
// log. The kinds are the program's own: the table has no bound. The zero value is ready
// for use, and safe for concurrent use.
type throttle struct {
	mu sync.Mutex
	of map[string]throttled
}

type throttled struct {
	logged time.Time
	since  int // events since logged
}

// take counts an event. It returns the number of events since the last line, with this
// one, if another line may be logged now; else 0.
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
