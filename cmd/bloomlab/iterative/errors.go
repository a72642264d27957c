package iterative

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/iterative"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const (
	noteBloom    = "The paper's column is Eq. 4 with all n inputs; a repetition sets no bit, so only the alpha n distinct keys count."
	noteIterated = "The paper's column is Eq. 10. It is too low: in Eq. 6 the bit of a repetition can fall on a one, but a walk always ends on a zero; and first arrivals come early, when there is more room."
	noteCounting = "The paper's column is Eq. 11 as printed, the same for all cases: it lacks the m/c cells of the line above it, and uses n instead of the alpha n distinct keys."
	noteLargest  = "Table 5, case 1: the repetitions are (1-alpha)/alpha a key, not n times that; the printed logarithm is not above 0 from alpha = 1/2 on. A counter that reaches v needs the bits of v+1 values."
	noteCounter  = "Table 5 omits a key's first insertion, and does not round up to whole bits."
)

var skews = []int{even, halfOne, allOne}

// errorsByDistinct is Fig. 5: the false positives by alpha, the share of inputs
// that are distinct.
func errorsByDistinct() lab.Experiment {
	e := lab.Experiment{
		Name:   "iterative-fig5",
		Title:  "false positives of BF, IBF and CBF by the share of distinct inputs",
		Source: paper + "section 4.3.3, Fig. 5, and Table 5; paper's column: its equations at our m, n, k",
	}
	for i := 1; i <= 10; i++ {
		e.Trials = append(e.Trials, errorsAtAlpha(float64(i)/10))
	}
	e.Trials = append(e.Trials, counters())
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{figureByAlpha(rows)} }
	return e
}

// errorsAtAlpha has a cell for BF, one for each case of IBF, and one for each of
// CBF.
func errorsAtAlpha(alpha float64) lab.Trial {
	distinct := math.Round(alpha * inputs)
	cells := []lab.Cell{bloomCell(fmt.Sprintf("alpha=%.1f", alpha), distinct, inputs)}
	for _, skew := range skews {
		reference := math.Pow(modelOf(newWorkload(alpha, inputs, skew)).end(), k)
		cells = append(cells, iterativeCell(fmt.Sprintf("alpha=%.1f IBF case %d", alpha, skew), distinct, inputs, reference))
	}
	for _, skew := range skews {
		cells = append(cells, countingCell(fmt.Sprintf("alpha=%.1f", alpha), alpha, inputs, skew))
	}
	return lab.Trial{Cells: cells, New: func(*rand.Rand) lab.Round {
		f, keys := newFilter(), make([]filter.Hash, int(distinct))
		loads := make([]*workload, len(skews))
		for i, skew := range skews {
			loads[i] = newWorkload(alpha, inputs, skew)
		}
		return func(r *rand.Rand, out []float64) {
			out[0] = bloomErrors(r, size, int(distinct))
			for i, load := range loads {
				fillWith(f, load, keys, r)
				out[1+i] = iterativeErrors(r, f)
			}
			for i, skew := range skews {
				out[1+len(skews)+i] = bloomErrors(r, countingSize(alpha, inputs, skew), int(distinct))
			}
		}
	}}
}

func bloomCell(name string, distinct, n float64) lab.Cell {
	reference := papers.ClassicError(float64(size), distinct, k)
	cell := lab.Cell{
		Name: name + " BF", Paper: math.Pow(-math.Expm1(-k*n/float64(size)), k),
		Tolerance: lab.Share(queries, reference, 0.01, 1), Why: whyFrequency,
	}.Expect(reference)
	if distinct < n {
		cell.Note = noteBloom
	}
	return cell
}

func iterativeCell(name string, distinct, n, reference float64) lab.Cell {
	cell := lab.Cell{
		Name: name, Paper: equation10(distinct, n),
		Tolerance: lab.Share(queries, reference, 0.01, 1), Why: whyFrequency,
	}.Expect(reference)
	if distinct < n {
		cell.Note = noteIterated
	}
	return cell
}

func countingCell(name string, alpha, n float64, skew int) lab.Cell {
	cells := countingSize(alpha, n, skew)
	reference := papers.ClassicError(float64(cells), alpha*n, k)
	cell := lab.Cell{
		Name:      fmt.Sprintf("%s CBF case %d", name, skew),
		Paper:     math.Pow(-math.Expm1(-k*n/float64(size)), k),
		Tolerance: lab.Share(queries, reference, 0.01, 1), Why: whyFrequency,
	}.Expect(reference)
	if alpha < 1 {
		cell.Note = noteCounting
	}
	return cell
}

// countingSize is the number of cells that a counting filter has in m bits.
func countingSize(alpha, n float64, skew int) uint64 {
	return size / uint64(counterBits(alpha, n, skew))
}

func newFilter() *iterative.Filter {
	return lab.Must(iterative.New(shape))
}

// fillWith draws the keys of a load and adds them in a random order.
func fillWith(f *iterative.Filter, load *workload, keys []filter.Hash, r *rand.Rand) {
	for i := range keys {
		keys[i] = papers.DrawHash(r)
	}
	f.Reset()
	for _, key := range load.shuffled(r) {
		f.Add(keys[key].Sequence(size))
	}
}

// iterativeErrors is the share of keys never added that are found.
func iterativeErrors(r *rand.Rand, f *iterative.Filter) float64 {
	found := 0
	for range queries {
		if f.Estimate(papers.DrawHash(r).Sequence(size)).Found {
			found++
		}
	}
	return float64(found) / queries
}

// bloomErrors is the share of keys never added that a Bloom filter finds. It
// stands for a counting filter of so many cells too: of one without deletions the
// cells above zero are the ones of a Bloom filter.
func bloomErrors(r *rand.Rand, m uint64, keys int) float64 {
	f := lab.Must(papers.NewClassic(m, k))
	var buf [k]uint64
	for range keys {
		f.Set(papers.Positions(papers.DrawHash(r), m, k, buf[:0]))
	}
	found := 0
	for range queries {
		if f.Has(papers.Positions(papers.DrawHash(r), m, k, buf[:0])) {
			found++
		}
	}
	return float64(found) / queries
}

// counters is Table 5: the bits of a counter that never overflows.
func counters() lab.Trial {
	t := lab.Trial{Fixed: true}
	var values []float64
	for _, alpha := range []float64{0.3, 0.5, 0.9} {
		printed := []float64{math.Log2((1 - alpha) / alpha), math.Log2((1 - alpha) * inputs / 2), math.Log2((1 - alpha) * inputs)}
		right := map[float64][]float64{0.3: {3, 10, 11}, 0.5: {2, 9, 10}, 0.9: {2, 7, 8}}[alpha]
		for i, skew := range skews {
			cell := lab.Cell{
				Name: fmt.Sprintf("alpha=%.1f bits of a counter, case %d", alpha, skew), Paper: printed[i],
				Tolerance: lab.Within(0), Why: "a whole number", Note: noteCounter,
			}
			if skew == even {
				cell.Note = noteLargest
			}
			t.Cells = append(t.Cells, cell.Expect(right[i]))
			values = append(values, float64(counterBits(alpha, inputs, skew)))
		}
	}
	t.New = func(*rand.Rand) lab.Round { return func(_ *rand.Rand, out []float64) { copy(out, values) } }
	return t
}

// loadFactors are the inputs of Fig. 6, in units of those for which a Bloom filter
// of distinct keys is half full.
var loadFactors = []float64{0.25, 0.5, 1, 1.5, 2, 3, 4}

// errorsByInputs is Fig. 6: the false positives at alpha = 1/2 as ever more comes.
func errorsByInputs() lab.Experiment {
	e := lab.Experiment{
		Name:   "iterative-fig6",
		Title:  "false positives of BF, IBF and CBF by the number of inputs",
		Source: paper + "section 4.3.3, Fig. 6; paper's column: its equations at our m, n, k",
	}
	for _, factor := range loadFactors {
		e.Trials = append(e.Trials, errorsAtInputs(factor*inputs))
	}
	e.Figures = func(rows []lab.Row) []lab.Figure { return []lab.Figure{figureByInputs(rows)} }
	return e
}

// errorsAtInputs has a cell for BF, one for IBF, and one for each case of CBF.
// Every key of IBF comes twice in succession, so that alpha is 1/2 throughout.
func errorsAtInputs(n float64) lab.Trial {
	const alpha = 0.5
	name := fmt.Sprintf("n=%.0f", n)
	distinct := alpha * n
	expected := newModel(float64(size), n, func(float64) float64 { return distinct }).end()
	cells := []lab.Cell{
		bloomCell(name, distinct, n),
		iterativeCell(name+" IBF", distinct, n, math.Pow(expected, k)),
	}
	for _, skew := range skews {
		cells = append(cells, countingCell(name, alpha, n, skew))
	}
	return lab.Trial{Cells: cells, New: func(*rand.Rand) lab.Round {
		f := newFilter()
		return func(r *rand.Rand, out []float64) {
			out[0] = bloomErrors(r, size, int(distinct))
			f.Reset()
			for range int(distinct) {
				key := papers.DrawHash(r)
				f.Add(key.Sequence(size))
				f.Add(key.Sequence(size))
			}
			out[1] = iterativeErrors(r, f)
			for i, skew := range skews {
				out[2+i] = bloomErrors(r, countingSize(alpha, n, skew), int(distinct))
			}
		}
	}}
}
