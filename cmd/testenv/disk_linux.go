package testenv

import (
	"syscall"
	"testing"
)

// SmallDisk mounts a file system of a size such as "256k", in memory, and returns its
// folder. It calls Servers, and skips the test where nothing can be mounted.
func SmallDisk(t testing.TB, size string) string {
	t.Helper()
	Servers(t)
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if err != nil {
		t.Log(err)
	}
	Need(t, err == nil, "root, to mount a small disk")
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
