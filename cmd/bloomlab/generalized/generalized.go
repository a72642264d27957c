// Package generalized repeats the experiments of Laufer, Velloso and Duarte, "A
// Generalized Bloom Filter to Secure Distributed Network Applications" (2011),
// again: its Tables 1 to 8, computed by its formulas and measured on filters, and
// the attacks that the structure is made for, with one that it does not withstand.
//
//	table row -> formulas of geometry                  compared with the printed value
//	          -> rounds on generalized.Filter, Classic  compared with the formulas
//
// Rounds are those of the paper's section 4: new universal hash functions, the
// initial condition drawn, n keys inserted, then keys asked from the other half of
// the universe. The tables are for n = 256; the columns of the Bloom filter that
// are 0 or 100 % by definition are omitted.
package generalized

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const (
	paper = "Laufer, Velloso, Duarte 2011, "
	n     = 256 // keys inserted
)

// Experiments returns all experiments of the package, in the order of the paper.
func Experiments() []lab.Experiment {
	var all []lab.Experiment
	for _, t := range tables {
		all = append(all, t.experiment())
	}
	return append(all, attacks())
}

const whyShare = "4 standard errors (Poisson, or as the rounds spread), and 1 % for the formula, which assumes independent bits"

// functions are the k0+k1 hash functions of a round. A papers.Universal has no
// more than papers.MaxK, so there may be several.
type functions []*papers.Universal

func drawFunctions(r *rand.Rand, m uint64, k int) functions {
	var f functions
	for ; k > 0; k -= papers.MaxK {
		f = append(f, lab.Must(papers.DrawUniversal(m, min(k, papers.MaxK), r)))
	}
	return f
}

func (f functions) positions(x uint64, dst []uint64) []uint64 {
	for _, u := range f {
		dst = u.Positions(x, dst)
	}
	return dst
}

// inserted and asked draw a key from the first and the second half of the
// universe.
func inserted(r *rand.Rand) uint64 { return 1 + r.Uint64N(papers.UniversalPrime/2) }

func asked(r *rand.Rand) uint64 {
	return 1 + papers.UniversalPrime/2 + r.Uint64N(papers.UniversalPrime/2-1)
}
