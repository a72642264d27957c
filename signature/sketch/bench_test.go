package sketch_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

func BenchmarkSketch(b *testing.B) {
	keyed := sketchtest.KeyedBy(1)
	for _, n := range []int{30, 200, 1000, 10_000} {
		s := sketchtest.RandomWords(rand.New(rand.NewPCG(1, uint64(n))), n).Sketch()
		b.Run("asked/"+strconv.Itoa(n), func(b *testing.B) {
			groups := 0
			for b.Loop() {
				groups = len(s.Asked(keyed))
			}
			b.ReportMetric(float64(groups), "groups")
		})
		b.Run("reported/"+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				s.Reported(keyed)
			}
		})
	}
}
