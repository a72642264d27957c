package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// A site whose clock was far ahead, by more than a time.Duration can express, is read as soon as its
// clock is right.
func TestFarClockIsSetBack(t *testing.T) {
	for name, year := range map[string]int{"weeks": time.Now().Year() + 1, "centuries": 2500, "farthest": 280_000} {
		t.Run(name, func(t *testing.T) {
			f := follow(openSite(t, "b"), newLog())
			sealer := &wire.Sealer{Ring: bloomdbtest.Ring}
			beat := func(made time.Time) {
				h := wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: 1, Made: made}
				f.receiveHeartbeat(sealer.EncodeRecord(h, make([]byte, 16)), true)
			}
			beat(time.Date(year, 1, 2, 3, 4, 5, 6, time.UTC))
			if o := f.origins["a"]; o == nil || !o.isAhead() {
				t.Fatalf("the clock is not ahead: %+v", o)
			}
			beat(time.Now().Add(time.Second))
			if s := f.Status()[0]; f.origins["a"].isAhead() || s.Clock {
				t.Errorf("the heartbeat by the right clock is ignored: %+v", s)
			}
		})
	}
}
