package clock

import (
	"time"
)

const (
	// MaxSkew is the largest difference between the clocks of two sites.
	MaxSkew = time.Hour
)
