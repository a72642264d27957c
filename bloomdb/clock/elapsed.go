package clock

import (
	"time"
)

// NewElapsed returns a clock that only goes forward and counts the time in which the machine
// is suspended, as the clock since boot does. Go's monotonic clock stands still then, so that
// the wall clock would seem to have jumped.
func NewElapsed(sinceBoot func() time.Duration) func() time.Duration {
	start, boot := time.Now(), sinceBoot()
	return func() time.Duration { return max(time.Since(start), sinceBoot()-boot) }
}
