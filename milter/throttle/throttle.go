// Package throttle bounds the log lines that clients can cause.
package throttle

import (
	"sync/atomic"
	"time"
)

// Throttle lets one log line a minute through. It uses the monotonic clock, so setting the
// clock back has no effect. The zero value is ready; it is safe for concurrent use.
type Throttle struct{ last atomic.Pointer[time.Time] }

// Allow reports whether a line may be logged now.
func (t *Throttle) Allow() bool {
	now, last := time.Now(), t.last.Load()
	return (last == nil || now.Sub(*last) >= time.Minute) && t.last.CompareAndSwap(last, &now)
}

// Each returns a throttle for each cause.
func Each(causes ...string) map[string]*Throttle {
	all := make(map[string]*Throttle)
	for _, cause := range causes {
		all[cause] = new(Throttle)
	}
	return all
}
