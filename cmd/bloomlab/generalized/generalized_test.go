package generalized

import (
	"math"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
)

const seed = 1

func TestEveryRowIsWithin(t *testing.T) {
	for _, e := range Experiments() {
		rows := labtest.Run(t, e, lab.Options{Rounds: 5, Seed: seed})
		labtest.Measured(t, rows)
		for _, figure := range e.Figures(rows) {
			if len(figure.Series) < 3 {
				t.Errorf("%s: only %d series", figure.Name, len(figure.Series))
			}
		}
	}
}

// A measured value may differ from the printed one by its noise, a computed one
// only where a note says why.
func TestComputedRowsAreAsPrintedOrNoted(t *testing.T) {
	noted := 0
	for _, table := range tables {
		for _, r := range table.rows {
			for _, cell := range table.computed(r).Cells {
				if cell.HasReference != (cell.Note != "") {
					t.Errorf("table %d %s: paper %g, reference %g, note %q", table.number, cell.Name, cell.Paper, cell.Reference, cell.Note)
				}
				if cell.HasReference {
					noted++
				}
			}
		}
	}
	if noted < 7 || noted > 30 {
		t.Errorf("%d cells have notes", noted)
	}
}

// By hand: 8 positions among very many are distinct, so the mean is 2^-8; two
// positions among two are one with the chance 1/2: 1/2*1/2 + 1/2*1/4.
func TestDistinctPower(t *testing.T) {
	if got := distinctPower(1<<30, 8); math.Abs(got-1.0/256) > 1e-9 {
		t.Errorf("many positions: %v", got)
	}
	if got := distinctPower(2, 2); math.Abs(got-0.375) > 1e-15 {
		t.Errorf("two of two: %v", got)
	}
	if got := distinctPower(256, 8) * 256; got < 1.1 || got > 1.13 {
		t.Errorf("m=256, k=4+4: %v times F_p", got)
	}
}

// A choice beats chance by far, and has not room for all.
func TestCraftedModel(t *testing.T) {
	for _, k := range []int{2, 4, 6, 8} {
		taken, fixed := craftedModel(k)
		if taken <= math.Pow(2, -float64(k)) || taken >= 1 || fixed <= 0 || fixed >= 1 {
			t.Errorf("k=%d: %v of the keys taken, %v of the bits fixed", k, taken, fixed)
		}
	}
	two, _ := craftedModel(4)
	four, _ := craftedModel(8)
	t.Logf("2+2: %.0f of %d, 4+4: %.0f", two*targets, targets, four*targets)
	if two < 0.4 || four < 0.2 {
		t.Errorf("2+2: %v, 4+4: %v of the keys are taken", two, four)
	}
}

// What the crafter fixed is found, and it takes a key whenever it can.
func TestCrafterTakesWhatAgrees(t *testing.T) {
	c := crafter{shape: newGeometry(attackBits, 2, 2), fixed: make([]bool, attackBits)}
	c.filter = newFilter(c.shape)
	for _, step := range []struct {
		positions []uint64
		taken     bool
	}{
		{[]uint64{1, 2, 3, 4}, true},
		{[]uint64{2, 5, 4, 6}, true},  // shares a zero and a one
		{[]uint64{3, 7, 8, 9}, false}, // wants a fixed one to be 0
		{[]uint64{7, 8, 2, 9}, false}, // wants a fixed zero to be 1
		{[]uint64{7, 8, 9, 10}, true}, // and the bits it was refused for are free
		{[]uint64{11, 12, 13, 5}, false},
	} {
		c.offer(step.positions)
		if c.filter.Has(step.positions) != step.taken {
			t.Errorf("%v: found %v", step.positions, !step.taken)
		}
	}
	for _, positions := range [][]uint64{{1, 2, 3, 4}, {2, 5, 4, 6}, {7, 8, 9, 10}} {
		if !c.filter.Has(positions) {
			t.Errorf("%v was lost", positions)
		}
	}
}
