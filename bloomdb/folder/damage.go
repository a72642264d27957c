package folder

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// DamageError reports that a file differs from what was written, and from which offset on.
type DamageError struct {
	Path   string
	Offset int64
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %v", e.Path, e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// Damaged returns a *DamageError. A file of a newer version is not damaged: for an ErrNewer,
// Damaged only adds the path.
func Damaged(path string, offset int64, err error) error {
	if errors.Is(err, layout.ErrNewer) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return &DamageError{Path: path, Offset: offset, Err: err}
}

// ErrMissing is the fault of a file that is missing although the identity or a list names it.
var ErrMissing = errors.New("the file is missing")

// ErrOlder is the fault of a file that is an older copy of itself.
var ErrOlder = errors.New("the file is an older copy")

// DamagedFile is a damaged file of the state folder that was set aside.
type DamagedFile struct {
	Name string `json:"name"` // in the state folder, under its present name
	Cost string `json:"cost"` // what is missing without it
}
