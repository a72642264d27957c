package iterative

import "math"

// model is the mean fill of an iterative filter over time. Time u goes from 0 to 1, evenly
// over the inputs. At fill p a new key sets k(1-p) bits, or one if it is falsely found
// (p^k); a key seen before sets one:
//
//	m dp/du = first(u) (k(1-p) + p^k) + n - first(u)
//
// The paper's Eq. 6 instead places all bits at random, also those of repetitions, although
// a walk always ends on a zero.
type model struct{ fill []float64 } // p at u = 0, 1/steps, ..., 1

const steps = 4000

// newModel solves for n inputs, of which first(u) du come for the first time in
// du. Heun's method; the error is far below that of the mean field.
func newModel(m, n float64, first func(u float64) float64) model {
	slope := func(u, p float64) float64 {
		return (first(u)*(k*(1-p)+math.Pow(p, k)-1) + n) / m
	}
	fill := make([]float64, steps+1)
	const h = 1.0 / steps
	for i := range steps {
		u, p := float64(i)*h, fill[i]
		a := slope(u, p)
		b := slope(u+h, p+h*a)
		fill[i+1] = math.Min(1, p+h*(a+b)/2)
	}
	return model{fill}
}

// modelOf is the model of a workload in random order.
func modelOf(w *workload) model {
	keys := make(map[int]float64) // by how often they come
	for _, c := range w.counts {
		keys[c]++
	}
	return newModel(float64(size), float64(w.inputs()), func(u float64) float64 {
		sum := 0.0
		for c, n := range keys {
			sum += n * firstOf(float64(c), u)
		}
		return sum
	})
}

// firstOf is the density at u of the first of c arrivals at random times.
func firstOf(c, u float64) float64 { return c * math.Pow(1-u, c-1) }

// end is P, the fill when all inputs have come.
func (m model) end() float64 { return m.fill[steps] }

// mean is the mean of f over the course.
func (m model) mean(f func(u, p float64) float64) float64 {
	sum := 0.0
	for i, p := range m.fill {
		weight := 1.0
		if i == 0 || i == steps {
			weight = 0.5
		}
		sum += weight * f(float64(i)/steps, p)
	}
	return sum / steps
}

// walk is the mean over all inputs of 1/(1-p), the positions that a repetition
// walks.
func (m model) walk() float64 {
	return m.mean(func(_, p float64) float64 { return 1 / (1 - p) })
}

// extra is the mean length of the run of ones beyond the first k of a key that
// came c times: a walk for each repetition, and for a first time that was falsely
// taken for one; then the ones that are there by chance.
func (m model) extra(c float64) float64 {
	walks := m.mean(func(u, p float64) float64 {
		first := firstOf(c, u)
		return (c - first + first*math.Pow(p, k)) / (1 - p)
	})
	return walks + m.end()/(1-m.end())
}

// single is what the corrected estimate reads on average for a key that came
// once, when P < 1/2: no count is below 1, so where no one follows the first k,
// the share P/(1-P) that is subtracted is not.
func (m model) single() float64 {
	chance := m.end() / (1 - m.end())
	falsely := m.mean(func(_, p float64) float64 { return math.Pow(p, k) })
	none := (1 - m.end()) * (1 - falsely)
	return 1 + (m.extra(1)-chance+none*chance)/m.walk()
}
