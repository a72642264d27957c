package page

import (
	"testing"
	"time"
)

// An answer that takes longer than it is kept is made once for all who wait for it, and rests after that.
func TestCostlyAnswer(t *testing.T) {
	now, made := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC), 0
	c := cache[int]{life: 10 * time.Second, now: func() time.Time { return now }, get: func() (int, error) {
		made++
		now = now.Add(15 * time.Second)
		return made, nil
	}}
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {0, 1}, {11 * time.Second, 1}, {33 * time.Second, 1}, {time.Second, 2}, {0, 2}, {-time.Hour, 3}} {
		now = now.Add(step.wait)
		if got, err := c.ask(); got != step.want || err != nil {
			t.Errorf("%s later: answer %d, want %d (%v)", step.wait, got, step.want, err)
		}
	}
	c.forget()
	if got, _ := c.ask(); got != 4 {
		t.Errorf("after a change: answer %d", got)
	}
}
