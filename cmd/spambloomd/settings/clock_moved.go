//go:build movedclock

package settings

import (
	"os"
	"strings"
	"time"
)

// clocks are controlled by a file, for tests of a running daemon. Go does not ask libc for
// the time, so libfaketime has no effect. The file named by SPAMBLOOM_CLOCK contains two
// durations: how far the wall clock is ahead, and the monotonic clock. No released program
// is built with this tag.
func clocks() (now func() time.Time, elapsed func() time.Duration) {
	start := time.Now()
	moved := func(i int) time.Duration {
		data, _ := os.ReadFile(os.Getenv("SPAMBLOOM_CLOCK")) // no file: no offset
		fields := strings.Fields(string(data))
		if len(fields) != 2 {
			return 0
		}
		d, err := time.ParseDuration(fields[i])
		if err != nil {
			panic(err) // an error in the test
		}
		return d
	}
	now = func() time.Time { return time.Now().Add(moved(0)).Round(0) }
	elapsed = func() time.Duration { return time.Since(start) + moved(1) }
	return now, elapsed
}
