package clock

import (
	"time"
)

// NewElapsed returns a clock that never goes back and includes the time during which the
// machine is suspended. Go's monotonic clock stops then, so that the wall clock would appear
// to have jumped. sinceBoot must include suspended time.
func NewElapsed(sinceBoot func() time.Duration) func() time.Duration {
	start, boot := time.Now(), sinceBoot()
	return func() time.Duration { return max(time.Since(start), sinceBoot()-boot) }
}
