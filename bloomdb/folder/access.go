package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckAccess returns an error if the process may not write to a state folder, or may not
// make it if it does not exist. It changes nothing. If the folder is not one, the error wraps
// fs.ErrExist.
func CheckAccess(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkParent(dir)
	case err != nil:
		return fmt.Errorf("state folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("state folder %s: %w and is no folder", dir, fs.ErrExist)
	}
	if err := unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("state folder %s: %w", dir, err)
	}
	return nil
}

// checkParent checks the nearest folder that exists above a missing one.
func checkParent(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	for path = filepath.Dir(path); path != "/"; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := unix.Access(path, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("state folder %s cannot be made in %s: %w", dir, path, err)
	}
	return nil
}
