package testenv

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	memory    = "/dev/shm"
	leastFree = 2 << 30 // the whole suite takes 0.75 GiB; containers often have 64 MiB there
)

// InMemory moves the folders that a package's tests make (t.TempDir, Dir) to MemoryFolder, if this
// machine has one. It is for TestMain of packages that sync thousands of files and show nothing
// about the disk, when they are run by themselves.
func InMemory() {
	if dir := MemoryFolder(); dir != "" {
		_ = os.Setenv("TMPDIR", dir) // fails for names and values that these are not
	}
}

// MemoryFolder returns the file system in memory, if this machine has one with enough room, from which
// programs can be run, and TMPDIR is not set; else "". With TMPDIR=/tmp, tests use the disk.
func MemoryFolder() string {
	if os.Getenv("TMPDIR") != "" || unix.Access(memory, unix.W_OK|unix.X_OK) != nil {
		return ""
	}
	var s unix.Statfs_t
	if err := unix.Statfs(memory, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Bavail*uint64(s.Bsize) < leastFree || s.Flags&unix.ST_NOEXEC != 0 {
		return ""
	}
	return memory
}
