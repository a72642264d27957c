package delta

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
)

// A thousand new signatures, in filters that are empty and half full: the code of
// lines is within its tolerance of the entropy, below 64 bits, and no code of bits
// is shorter.
func TestRowsAreWithin(t *testing.T) {
	e := Experiments()[0]
	e.Trials = []lab.Trial{trial(fills[0], 1000), trial(fills[2], 1000)}
	e.Figures = nil // they show all fills
	rows := labtest.Run(t, e, lab.Options{Rounds: 1, Seed: 1, Workers: 1})
	lines := 0.0
	for i, row := range rows {
		switch {
		case i == 0 || i == len(trial(fills[0], 1000).Cells):
			if lines = row.Measured; lines > 64 {
				t.Errorf("%s: %.2f bits", row.Cell, lines)
			}
		case row.Measured < lines && math.IsNaN(row.Reference):
			t.Errorf("%s: %.2f bits, lines take %.2f", row.Cell, row.Measured, lines)
		}
	}
	if len(rows) != 15 {
		t.Errorf("%d rows", len(rows))
	}
}

// With one new key in an empty filter, the entropy is that of its line and of a bit
// in each section.
func TestEntropyOfOneKey(t *testing.T) {
	s := filter.BitsShape{Lines: 1 << 20, K: 8, Span: 1}
	if got, want := entropy(s, 0, 1), 20+math.Log2E+8*6; math.Abs(got-want) > 0.01 {
		t.Errorf("%.3f bits, want %.3f", got, want)
	}
	for _, held := range []float64{1e5, 1e6} { // bits that are set already need not be sent
		if entropy(s, held*10, 1000) > entropy(s, held, 1000)+1 {
			t.Errorf("%g keys held: more bits than with fewer", held*10)
		}
	}
}

// The share of a new key's bits that are set already is the filter's fill.
func TestNewBitsLeaveOutWhatIsHeld(t *testing.T) {
	for _, l := range layouts {
		const n = 5000
		got := float64(len(newBits(rand.New(rand.NewPCG(1, 2)), l.shape, capacity, n)))
		want := n * 8 * (1 - l.shape.Fill(capacity)) * (1 - l.shape.Fill(n)/2)
		if math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s: %g new bits of %d keys, expected %.0f", l.name, got, n, want)
		}
	}
}
