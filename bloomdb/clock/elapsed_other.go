//go:build !linux

package clock

import "time"

// SinceBoot returns 0: only Go's monotonic clock is available.
func SinceBoot() time.Duration { return 0 }
