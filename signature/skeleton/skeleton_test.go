package skeleton

import (
	"math"
	"math/rand/v2"
	"testing"
)

// If two pages have a share s of their runs in common, an outline is the same with a chance of s^2, and
// both independently.
func TestOutlines(t *testing.T) {
	const pages, runs = 4000, 40
	r := rand.New(rand.NewPCG(1, 2))
	for _, shared := range []int{40, 36, 30, 20, 10} {
		one, both := 0, 0
		for range pages {
			var a, b Collector
			for i := range runs {
				run := r.Uint64()
				a.addRun(run)
				if i >= shared {
					run = r.Uint64()
				}
				b.addRun(run)
				b.addRun(run) // once more is the same
			}
			x, y := a.outlines(), b.outlines()
			if x[0] == 0 || x[0] == x[1] {
				t.Fatalf("outlines %x", x)
			}
			switch {
			case x == y:
				one, both = one+2, both+1
			case x[0] == y[0] || x[1] == y[1]:
				one++
			}
		}
		share := float64(shared) / float64(2*runs-shared)
		each, together := float64(one)/(2*pages), float64(both)/pages
		if math.Abs(each-share*share) > 0.03 || math.Abs(together-math.Pow(share, 4)) > 0.03 {
			t.Errorf("share %.2f: the same %.3f, both %.3f, want %.3f, %.3f", share, each, together, share*share, math.Pow(share, 4))
		}
	}
	var few Collector
	for i := range uint64(maxKinds - 1) {
		few.addRun(i + 1)
	}
	if o := few.outlines(); o != [Outlines]uint64{} {
		t.Errorf("seven runs have outlines %x", o)
	}
}
