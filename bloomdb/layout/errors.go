package layout

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

var (
	ErrFull       = errors.New("the generation's capacity is used up")
	ErrClosed     = errors.New("database is closed")
	ErrIdentity   = errors.New("another identity")  // Open: the folder belongs to another site, key or period
	ErrParameters = errors.New("parameters differ") // Apply: the record was made with other sizes, periods or layouts
	ErrClock      = errors.New("the clocks differ")
)

// ErrContested is the ErrFull of the ladder filter: messages that were reported and revoked take no
// more changes in this generation. Others do, so it is no reason to let them wait.
var ErrContested = fmt.Errorf("no more changes of contested messages: %w", ErrFull)

// ErrNewer is wrapped by the error for a file or record whose version or kind is newer
// than this program. It is never damage: such a file is not set aside, and Repair refuses it.
var ErrNewer = filter.ErrNewer

// Newer returns the error for a version higher than the one this program reads.
func Newer(version, reads int) error {
	return fmt.Errorf("newer format (version %d; this program reads %d), %w", version, reads, ErrNewer)
}
