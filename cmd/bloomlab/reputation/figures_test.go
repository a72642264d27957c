//go:build figures

package reputation

import (
	"testing"
)

// A site of 50,000 users takes minutes: its figures are in contrib/quorum.md.
func TestLargeSite(t *testing.T) {
	for _, share := range []float64{0, 0.01} {
		x := trial{name: lieName(share), scenario: scenario{users: 50_000, days: 14, liars: share, mix: usual}, most: 1}
		for _, q := range []float64{1, 3, 10, 20, 40} {
			x.ways = append(x.ways, settled(q))
		}
		for _, row := range runTrials(t, x.lab()) {
			t.Logf("%s %.3g", row.Cell, row.Measured)
		}
	}
}
