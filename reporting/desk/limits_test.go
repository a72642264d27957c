package desk

import (
	"testing"
	"time"
)

// A report with more signatures than the hourly limit uses up the whole hour.
func TestLongReportIsOneHours(t *testing.T) {
	if err := newLimits(1).take("anna", 34, time.Now()); err != nil {
		t.Error(err)
	}
}
