package clock

import (
	"time"
)

const (
	// MaxSkew is how far the clocks of sites may differ.
	MaxSkew = time.Hour
)
