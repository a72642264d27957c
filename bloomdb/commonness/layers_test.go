package commonness

import (
	"math"
	"testing"
)

// The constants of the layers are what the formulas of package filter give.
func TestLayers(t *testing.T) {
	sum := 0.0
	for _, l := range layers {
		if want := l.shape.Fit(l.room, layerError); !l.shape.Equal(want) {
			t.Errorf("layer of %.0f entries: %v, want %v", l.room, l.shape, want)
		}
		if want := l.shape.Fill(l.room) * float64(l.shape.Size()); math.Abs(float64(l.full)-want) > 1 {
			t.Errorf("layer of %.0f entries: full with %d bits, want %.0f", l.room, l.full, want)
		}
		sum += l.room
		if want := l.shape.Fill(l.room-sum/8) * float64(l.shape.Size()); math.Abs(float64(l.closed)-want) > 1 {
			t.Errorf("layer of %.0f entries: closed with %d bits, want %.0f", l.room, l.closed, want)
		}
	}
	if sum != room {
		t.Errorf("the layers have room for %.0f entries, want %d", sum, room)
	}
}
