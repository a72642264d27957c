//go:build !movedclock

package settings

import "time"

// clocks returns nil: the database uses the system's clocks.
func clocks() (now func() time.Time, elapsed func() time.Duration) { return nil, nil }
