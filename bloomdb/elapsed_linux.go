package bloomdb

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is the time since the machine was started, suspended or not; 0 if the kernel has
// no such clock.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
