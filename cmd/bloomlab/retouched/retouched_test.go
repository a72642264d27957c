package retouched

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const seed = 20061204

// run does an experiment, all rows of which are compared with something or have a note.
func run(t *testing.T, e lab.Experiment, rounds int) []lab.Row {
	t.Helper()
	rows := labtest.Run(t, e, lab.Options{Rounds: rounds, Seed: seed})
	for _, r := range rows {
		if math.IsNaN(r.Tolerance) && r.Note == "" {
			t.Errorf("%s: %s: held against nothing, and no note", e.Name, r.Cell)
		}
	}
	for _, f := range e.Figures(rows) {
		for _, s := range f.Series {
			if len(s.Points) != len(betas) {
				t.Errorf("%s: %s has %d points", f.Name, s.Name, len(s.Points))
			}
		}
	}
	return rows
}

func TestFig5(t *testing.T) { run(t, fig5(), 3) }

// What the text says of Fig. 6 holds for v_B of F_P: Ratio, Maximum FP, Minimum
// FN, Random, in this order at every beta. With v_B of B, Minimum FN is before
// Maximum FP at small betas. Live counts are best from beta=25 % on.
func TestFig6AndItsRanking(t *testing.T) {
	rows := run(t, fig6(), 4)
	chi := func(v, beta int) float64 { return rows[v*len(betas)+beta].Measured }
	for b, beta := range betas {
		if !(chi(3, b) > chi(2, b) && chi(2, b) > chi(1, b) && chi(1, b) > chi(0, b)) {
			t.Errorf("beta %v: ratio %v, maximum FP %v, minimum FN %v, random %v", beta, chi(3, b), chi(2, b), chi(1, b), chi(0, b))
		}
		if given, minimum := chi(4, b), chi(1, b); beta < 0.5 && given > minimum {
			t.Errorf("beta %v: maximum FP with v_B of B has %v, minimum FN %v", beta, given, minimum)
		}
		if live, all := chi(6, b), chi(3, b); beta >= 0.25 && live < all {
			t.Errorf("beta %v: live %v, static %v", beta, live, all)
		}
	}
}

// With Random selection all bits are of one level, and the equations can be
// solved: the chance of a bit not to be cleared is q = (1 + (k-1)*L*beta/k)^(-1/(k-1))
// with L false positives a bit.
func TestClosedForm(t *testing.T) {
	load := hashes * falsePositives / ones
	for i, got := range variants[0].expected() {
		q := math.Pow(1+(hashes-1)*load*betas[i]/hashes, -1.0/(hashes-1))
		want := outcome{s: ones * (1 - q), deltaFP: 1 - (1-betas[i])*math.Pow(q, hashes), deltaFN: 1 - math.Pow(q, hashes)}
		for _, c := range [][2]float64{{got.s, want.s}, {got.deltaFP, want.deltaFP}, {got.deltaFN, want.deltaFN}} {
			if math.Abs(c[0]-c[1]) > 1e-6*c[1] {
				t.Errorf("beta %v: %+v, closed form %+v", betas[i], got, want)
			}
		}
	}
}

// Every selection ends with all of B gone, whatever the betas on the way, and
// the classes of the computation are nearly all there are.
func TestMeanFieldIsWhole(t *testing.T) {
	for _, v := range variants {
		f := newMeanField(v.selection, 2.4)
		var bit, other, lost float64
		for _, l := range f.levels {
			for _, c := range l.classes {
				bit, other, lost = bit+c.bit, other+c.other, lost+c.lost
			}
		}
		if min(bit, other, lost) < 1-1e-8 || max(bit, other, lost) > 1+1e-12 {
			t.Errorf("%s: shares sum to %v, %v, %v", v.name, bit, other, lost)
		}
		if v.live {
			continue
		}
		all := v.expected()
		if last := all[len(all)-1].deltaFP; math.Abs(last-1) > 1e-9 {
			t.Errorf("%s: at beta=100%% a share %v is gone", v.name, last)
		}
	}
}

// After each variant no key of B is found, and chi counts what the filter says.
func TestRetouchRemovesB(t *testing.T) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld()
	w.draw(r)
	for i := range members {
		if !w.bloom.Has(w.a.at(i)) {
			t.Fatal("a member is not in the filter")
		}
	}
	for i := range w.f.len() {
		if !w.bloom.Has(w.f.at(i)) {
			t.Fatal("a false positive is none")
		}
	}
	for _, v := range variants {
		w.retouch(v, r, func(beta int, f *papers.Retouched) {
			n := int(math.Round(betas[beta] * float64(w.f.len())))
			for i := range n {
				if f.Has(w.f.at(i)) {
					t.Fatalf("%s, beta %v: key %d of %d is still found", v.name, betas[beta], i, n)
				}
			}
			if f.Cleared() > n || w.effect(f.Has).Remaining > w.f.len()-n {
				t.Errorf("%s, beta %v: %d bits cleared, effect %+v", v.name, betas[beta], f.Cleared(), w.effect(f.Has))
			}
		})
	}
}
