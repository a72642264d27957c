//go:build !linux

package bloomdb

import "time"

// sinceBoot is 0: Go's monotonic clock is all there is.
func sinceBoot() time.Duration { return 0 }
