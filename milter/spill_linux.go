package milter

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

// checkSpillRoom returns an error if the disk of folder has at most spillReserve bytes
// free.
func checkSpillRoom(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", folder, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free <= spillReserve {
		return fmt.Errorf("the disk of %s has %d MiB free, but %d MiB are reserved for reports", folder, free>>20, spillReserve>>20)
	}
	return nil
}
