//go:build movedclock

package main

import (
	"os"
	"strings"
	"time"
)

// clocks are moved by a file, for tests of a running daemon: Go does not ask libc for the
// time, so that libfaketime does not reach it. The file named by SPAMBLOOM_CLOCK has two
// durations: by how much the wall clock is ahead, and the monotonic clock. No released
// program is built with this tag.
func clocks() (now func() time.Time, elapsed func() time.Duration) {
	start := time.Now()
	moved := func(i int) time.Duration {
		data, _ := os.ReadFile(os.Getenv("SPAMBLOOM_CLOCK")) // none: not moved
		fields := strings.Fields(string(data))
		if len(fields) != 2 {
			return 0
		}
		d, err := time.ParseDuration(fields[i])
		if err != nil {
			panic(err) // of the test
		}
		return d
	}
	now = func() time.Time { return time.Now().Add(moved(0)).Round(0) }
	elapsed = func() time.Duration { return time.Since(start) + moved(1) }
	return now, elapsed
}
