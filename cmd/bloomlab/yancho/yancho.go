// Package yancho repeats the experiments of Yan & Cho, "Enhancing Signature-based
// Collaborative Spam Detection with Bloom Filters" (Newcastle CS-TR-973, June
// 2006; also ACSAC 2006): Table I, Table II and the example before it, the
// simulations of section V, the utilisable size of section III, and the effect of the
// merge of section IV on refined filters.
//
// The structures are those of package papers: Classic, Universal, Chunks, Counting.
// The package owns the paper's parameters, its printed values, and its errors.
package yancho

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const paper = "Yan & Cho 2006 (CS-TR-973), "

// Experiments returns all experiments of the paper, in its order.
func Experiments() []lab.Experiment {
	all := []lab.Experiment{table1(), table2()}
	for _, s := range simulations {
		all = append(all, s.experiment())
	}
	return append(all, utilisable(), merge())
}

// newCounting makes a filter of m flat cells.
func newCounting(e papers.Extension, m uint64, k, width int) (*papers.Counting, *papers.Flat) {
	cells := lab.Must(papers.NewFlat(m, width))
	return lab.Must(papers.NewCounting(e, k, cells)), cells
}

// drawKey draws from the paper's universe A = {1, ..., p-1}.
func drawKey(r *rand.Rand) uint64 { return 1 + r.Uint64N(papers.UniversalPrime-1) }
