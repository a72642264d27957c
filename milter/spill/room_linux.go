package spill

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openNameless creates a file in folder that never has a name. If the file system cannot do
// that, the file has a name while it is empty.
func openNameless(folder string) (*os.File, error) {
	file, err := os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return openTemporary(folder)
	}
	return file, nil
}

// checkRoom returns an error if the disk of folder has at most Reserve bytes
// free.
func checkRoom(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", folder, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free <= Reserve {
		return fmt.Errorf("the disk of %s has %d MiB free, but %d MiB are reserved for reports", folder, free>>20, Reserve>>20)
	}
	return nil
}
