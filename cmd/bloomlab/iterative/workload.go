package iterative

import (
	"math"
	"math/rand/v2"
)

// The cases of the paper's Table 4: how unevenly the repetitions fall.
const (
	even    = 1 // on all keys alike
	halfOne = 2 // half of them on one key, the rest on all others alike
	allOne  = 3 // all on one key
)

// workload is how often each key comes: distinct keys, alpha times the inputs,
// and repetitions for the rest. Key 0 is the heavy one.
type workload struct {
	counts []int
	order  []int // scratch
}

func newWorkload(alpha float64, inputs, skew int) *workload {
	distinct := int(math.Round(alpha * float64(inputs)))
	counts := make([]int, distinct)
	for i := range counts {
		counts[i] = 1
	}
	heavy := 0
	switch skew {
	case halfOne:
		heavy = (inputs - distinct) / 2
	case allOne:
		heavy = inputs - distinct
	}
	counts[0] += heavy
	for i := range inputs - distinct - heavy {
		if skew == even {
			counts[i%distinct]++
		} else {
			counts[1+i%(distinct-1)]++
		}
	}
	return &workload{counts: counts}
}

// shuffled is every key as often as it comes, in a random order. It is valid
// until the next call.
func (w *workload) shuffled(r *rand.Rand) []int {
	w.order = w.order[:0]
	for key, n := range w.counts {
		for range n {
			w.order = append(w.order, key)
		}
	}
	r.Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	return w.order
}

// inputs is n.
func (w *workload) inputs() int {
	n := 0
	for _, c := range w.counts {
		n += c
	}
	return n
}

// counterBits is c, the bits a counter of a counting filter needs so that none
// overflows: the paper's Table 5, corrected. The largest count is 1 + (1-alpha)/alpha
// in case 1 (printed: n times that, without the 1), 1 + (1-alpha)n/2 in case 2 and
// 1 + (1-alpha)n in case 3; a counter that reaches v has the bits of v+1 values.
func counterBits(alpha, inputs float64, skew int) int {
	largest := 1 + (1-alpha)*inputs
	switch skew {
	case even:
		largest = math.Ceil(1/alpha - 1e-9)
	case halfOne:
		largest = math.Ceil(1 + (1-alpha)*inputs/2)
	}
	return int(math.Ceil(math.Log2(largest + 1)))
}
