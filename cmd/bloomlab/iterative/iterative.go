// Package iterative repeats the experiments of Matsumoto, Hazeyama and Kadobayashi,
// "Iterative Bloom Filter for Network Traffic Analysis": the errors of the
// iterative filter (IBF) beside those of a Bloom filter (BF) and a counting one
// (CBF) in the same memory, and how well it counts.
//
//	workload (alpha, case) -> Iterative, Classic -> rows, compared with model
//
// The paper prints neither sizes nor numbers, only curves of its equations. The paper's
// column therefore has its equations at our sizes: k = 5 and, because of the 0.031 = 2^-5
// of section 4.3.3, the m/n at which a Bloom filter of n keys is half full. The rows are
// compared with a mean-field model, which also shows the errors of the equations. The
// structure is iterative.Filter.
package iterative

import (
	"github.com/spambloom/spambloom/bloomdb/filter/iterative"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

const (
	paper = "Matsumoto, Hazeyama, Kadobayashi, "

	k       = 5
	inputs  = 1500 // n, keys added, with repetitions
	queries = 4000 // keys queried that were never added, each round and filter
)

// size is m: a Bloom filter with n keys is half full.
var size = iterative.Size(inputs, inputs, k, 0.5)

// shape lets runs go on as far as the paper's equations do, with no limits that
// a round could meet.
var shape = iterative.Shape{M: size, K: k, Walk: 1 << 16, MaxFill: 0.99}

// Experiments returns all experiments of the package, in the order of the paper.
func Experiments() []lab.Experiment {
	return []lab.Experiment{errorsByDistinct(), errorsByInputs(), estimates()}
}

const whyFrequency = "4 standard errors (Poisson, or as the rounds spread), and 1 % for the mean-field model"
