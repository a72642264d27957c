//go:build !(race && linux)

package testenv

import "testing"

// RanWithoutRace returns false: the test runs here. With the race detector, on Linux, it runs
// in a program without it.
func RanWithoutRace(*testing.T) bool { return false }
