package clock

import (
	"testing"
	"time"
)

// The system's clock since boot goes on as fast as time does.
func TestSinceBoot(t *testing.T) {
	elapsed, before := NewElapsed(SinceBoot), time.Now()
	time.Sleep(time.Millisecond)
	if took := elapsed(); took < time.Millisecond || took > time.Since(before)+time.Minute {
		t.Errorf("%s have passed", took)
	}
	if a, b := SinceBoot(), SinceBoot(); b < a {
		t.Errorf("%s after %s", b, a)
	}
}
