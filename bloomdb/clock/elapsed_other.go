//go:build !linux

package clock

import "time"

// SinceBoot is 0: Go's monotonic clock is all there is.
func SinceBoot() time.Duration { return 0 }
