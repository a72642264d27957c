package hourly

import (
	"testing"
	"time"
)

// A report with more signatures than the hourly limit uses up the whole hour.
func TestLongReportIsOneHours(t *testing.T) {
	if err := New(1).Take("anna", 34, time.Now()); err != nil {
		t.Error(err)
	}
}
