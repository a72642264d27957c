//go:build !linux

package milter

import "os"

// openNameless creates a file in folder that has a name only while it is empty.
func openNameless(folder string) (*os.File, error) { return openTemporary(folder) }

// checkSpillRoom does nothing on this system.
func checkSpillRoom(string) error { return nil }
