package wire

import (
	"errors"
)

var (
	ErrFederation = errors.New("another federation") // Apply: made under another key
	ErrGap        = errors.New("sequence gap")       // Apply: earlier deltas of the origin are missing
	// Of records, beside these:
	ErrStranger = errors.New("not a member here")
	ErrUnsigned = errors.New("not signed by its site")
	ErrTrust    = errors.New("not heard in full")
	ErrReplayed = errors.New("of a life that is over")
)

// ErrMuted is the error of Apply for records of a site that is muted here.
var ErrMuted = errors.New("muted here")

// ErrCapped is the error of Apply for a record that would take a site over its cap.
// Until the generation ends, the site is not heard in it any more.
var ErrCapped = errors.New("the site's cap is reached")
