package folder

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// DamageError says which file is not what was written, and from which byte on.
type DamageError struct {
	Path   string
	Offset int64
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %v", e.Path, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// Damaged makes a *DamageError. What a newer version made is not damaged: then the error
// only names the file.
func Damaged(path string, offset int64, err error) error {
	if errors.Is(err, layout.ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamageError{Path: path, Offset: offset, Err: err}
}

// ErrMissing is the fault of a file that should be there.
var ErrMissing = errors.New("the file is missing")

// DamagedFile is a file of the state folder that was damaged and is not used any more.
type DamagedFile struct {
	Name string `json:"name"` // in the state folder, under its present name
	Cost string `json:"cost"` // what is missing without it
}
