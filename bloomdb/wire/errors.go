package wire

import (
	"errors"
)

var (
	ErrFederation = errors.New("another federation") // Apply: the record was made under another key
	ErrGap        = errors.New("sequence gap")       // Apply: earlier deltas of the origin are missing
	// Further reasons to reject a record:
	ErrStranger = errors.New("not a member here")
	ErrUnsigned = errors.New("not signed by its site")
	ErrTrust    = errors.New("site is not fully trusted")
	ErrReplayed = errors.New("stale epoch")
)

// ErrMuted is the error of Apply for a record of a muted site.
var ErrMuted = errors.New("site is muted here")

// ErrCapped is the error of Apply for a record that would take a site over its cap. Further
// records of the site for that generation are rejected, too.
var ErrCapped = errors.New("the site's cap is reached")
