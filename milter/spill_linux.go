package milter

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openNameless makes a file in folder that never has a name. Not every file system
// can do that; there it has one as long as it is empty.
func openNameless(folder string) (*os.File, error) {
	file, err := os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return openTemporary(folder)
	}
	return file, nil
}

// roomToSpill fails where the disk of folder has no more free than spillReserve.
func roomToSpill(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return fmt.Errorf("statfs %s: %w", folder, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free <= spillReserve {
		return fmt.Errorf("the disk of %s has %d MiB free, of which %d are for reports", folder, free>>20, spillReserve>>20)
	}
	return nil
}
