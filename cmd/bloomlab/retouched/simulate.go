package retouched

import (
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// The paper's evaluation, section IV.B.
const (
	universe = 2_000_000 // N
	members  = 10_000    // n = |A|
	size     = 100_000   // m
	hashes   = 5         // k
)

var betas = []float64{0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 0.75, 1}

// ones and falsePositives are p_1*m (Eq. 4) and |F_P| (Eq. 5) in expectation.
var (
	ones           = size * papers.ClassicFill(size, members, hashes)
	falsePositives = (universe - members) * papers.ClassicError(size, members, hashes)
)

// variant is one of the ways to retouch that are compared.
type variant struct {
	name      string
	selection papers.Selection
	given     bool // v_B counts B, as in the pseudo-code; else all of F_P
	live      bool
}

var variants = []variant{
	{name: "random", selection: papers.RandomSelection},
	{name: "minimum FN", selection: papers.MinimumFN},
	{name: "maximum FP", selection: papers.MaximumFP},
	{name: "ratio", selection: papers.RatioSelection},
	{name: "maximum FP, v_B of B", selection: papers.MaximumFP, given: true},
	{name: "ratio, v_B of B", selection: papers.RatioSelection, given: true},
	{name: "ratio, live v_A and v_B of B", selection: papers.RatioSelection, given: true, live: true},
}

// world is one draw of A, the filter and F_P. Hashing is emulated with random
// numbers, as in the paper: positions are uniform draws.
type world struct {
	bloom   *papers.Classic
	a, f    keys
	va, vb  *papers.CountingVector // static, of A and of F_P
	liveA   *papers.CountingVector // live, of A
	touched *papers.Classic        // scratch
}

// keys are the positions of some keys, hashes each, side by side.
type keys []uint64

func (k keys) len() int          { return len(k) / hashes }
func (k keys) at(i int) []uint64 { return k[i*hashes : (i+1)*hashes] }
func (k keys) first(n int) keys  { return k[:n*hashes] }

func newWorld() *world {
	return &world{bloom: newClassic(), touched: newClassic()}
}

// newClassic makes an empty filter of the paper's size, which is in range.
func newClassic() *papers.Classic { return lab.Must(papers.NewClassic(size, hashes)) }

// draw makes A and asks the filter for every other element of the universe. Of an
// element that is not found only the positions up to the first clear bit matter,
// and hardly more are drawn. F_P comes in random order, so that any first part of
// it is a random B.
func (w *world) draw(r *rand.Rand) {
	w.bloom.Reset()
	w.a, w.f = w.a[:0], w.f[:0]
	for range members {
		w.a = appendPositions(w.a, r, hashes)
		w.bloom.Set(w.a[len(w.a)-hashes:])
	}
	for range universe - members {
		p, q := twoPositions(r)
		if !w.bloom.Bit(p) || !w.bloom.Bit(q) {
			continue
		}
		start := len(w.f)
		w.f = appendPositions(append(w.f, p, q), r, hashes-2)
		if !w.bloom.Has(w.f[start+2:]) {
			w.f = w.f[:start]
		}
	}
	w.va, w.vb = count(w.a, false), count(w.f, false)
	w.liveA = count(w.a, true)
}

func appendPositions(dst []uint64, r *rand.Rand, n int) []uint64 {
	for ; n > 1; n -= 2 {
		p, q := twoPositions(r)
		dst = append(dst, p, q)
	}
	if n > 0 {
		p, _ := twoPositions(r)
		dst = append(dst, p)
	}
	return dst
}

// twoPositions are each uniform up to size/2^32, two parts in 100,000.
func twoPositions(r *rand.Rand) (p, q uint64) {
	x := r.Uint64()
	return x >> 32 * size >> 32, x & (1<<32 - 1) * size >> 32
}

func count(k keys, live bool) *papers.CountingVector {
	v := lab.Must(papers.NewCountingVector(size, live))
	for i := range k.len() {
		lab.Check(v.Add(k.at(i)))
	}
	return v
}

// start makes the filter that a variant will clear bits of, for the false
// positives B.
func (w *world) start(v variant, b keys, r *rand.Rand) *papers.Retouched {
	w.touched.Reset()
	lab.Check(w.touched.Or(w.bloom))
	how := papers.Retouching{Selection: v.selection, Random: r}
	switch {
	case v.live:
		how.A, how.B = w.liveA.Clone(), count(b, true)
	case v.given:
		how.A, how.B = w.va.Clone(), count(b, false)
	default:
		how.A, how.B = w.va.Clone(), w.vb.Clone()
	}
	return lab.Must(papers.NewRetouched(w.touched, how))
}

// retouch runs a variant for all betas and reports the result of each. Where v_B
// counts all of F_P, a greater B only goes on from a smaller one.
func (w *world) retouch(v variant, r *rand.Rand, tell func(beta int, f *papers.Retouched)) {
	var f *papers.Retouched
	done := 0
	for i, beta := range betas {
		b := w.f.first(int(math.Round(beta * float64(w.f.len()))))
		if f == nil || v.given {
			f, done = w.start(v, b, r), 0
		}
		for ; done < b.len(); done++ {
			f.Clear(b.at(done))
		}
		tell(i, f)
	}
}

// effect asks for all of A and F_P again.
func (w *world) effect(has func([]uint64) bool) papers.RetouchEffect {
	e := papers.RetouchEffect{FalsePositives: w.f.len(), Members: members}
	for i := range w.f.len() {
		if has(w.f.at(i)) {
			e.Remaining++
		}
	}
	for i := range members {
		if !has(w.a.at(i)) {
			e.Lost++
		}
	}
	return e
}

// clearBlindly clears s ones, whatever they are (section III.B).
func (w *world) clearBlindly(s int, r *rand.Rand) papers.RetouchEffect {
	w.touched.Reset()
	lab.Check(w.touched.Or(w.bloom))
	for s > 0 {
		if w.touched.ClearBit(r.Uint64N(size)) {
			s--
		}
	}
	return w.effect(w.touched.Has)
}
