package milter

import (
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
