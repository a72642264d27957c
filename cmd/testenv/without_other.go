//go:build !(race && linux)

package testenv

import "testing"

// RanWithoutRace returns false: the test runs here. With the race detector, on Linux, it runs
// in a program without it. It takes long by nature, and is skipped in -short.
func RanWithoutRace(t *testing.T) bool {
	t.Helper()
	Servers(t)
	return false
}
