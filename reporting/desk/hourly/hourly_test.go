package hourly

import (
	"testing"
	"time"
)

// A report with more signatures than the hourly limit uses up the whole hour.
func TestLongReportIsOneHours(t *testing.T) {
	if err := New(1).Take("anna", "unix:1000", 34, time.Now()); err != nil {
		t.Error(err)
	}
}

// TestHourInAnothersName is the attack "hour of another": a mail store repeats a report in the name of a user,
// until that user's hour is used up. What the user reports itself is accepted.
func TestHourInAnothersName(t *testing.T) {
	limits, now := New(10), time.Now()
	for range 10 {
		if err := limits.Take("anna", "tcp:store1", 1, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := limits.Take("anna", "tcp:store1", 1, now); err == nil {
		t.Error("the store has no limit")
	}
	if err := limits.Take("anna", "unix:1000", 1, now); err != nil {
		t.Error(err)
	}
}
