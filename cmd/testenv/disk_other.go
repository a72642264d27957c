//go:build !linux

package testenv

import "testing"

// SmallDisk skips the test: it needs Linux.
func SmallDisk(t testing.TB, size string) string {
	t.Helper()
	Servers(t)
	Need(t, false, "root, to mount a small disk")
	return ""
}
