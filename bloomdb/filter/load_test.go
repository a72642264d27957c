package filter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// randomHash draws a key's lanes.
func randomHash(r *rand.Rand) Hash { return Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()} }

// average is a mean with its standard deviation.
type average struct{ n, sum, squares float64 }

func (s *average) add(x float64)      { s.n++; s.sum += x; s.squares += x * x }
func (s *average) mean() float64      { return s.sum / s.n }
func (s *average) deviation() float64 { return math.Sqrt((s.squares/s.n - s.mean()*s.mean()) / s.n) }

// The load of the least loaded bit of a key, estimated and counted, on the union of two
// random filters. The estimate may be off by 3 deviations of the mean and by 1.5 %, its own
// bias: it uses the most likely number of keys in a line instead of their mean.
func TestLoadAtAgainstCountedKeys(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, shape := range []BitsShape{{Lines: 200, K: 8}, {Lines: 200, K: 16}, {Lines: 200, K: 4, Span: 1}} {
		for _, perLine := range []float64{5, 13, 30} {
			t.Run(fmt.Sprintf("%v, %g keys a line", shape, perLine), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(perLine)))
				var absent, absentGuess, added, addedGuess, emptiest average
				for range 8 {
					f := newCountedFilters(t, r, shape, int(perLine*float64(shape.Lines)/float64(shape.span())))
					for range 400 {
						key := f.absentKey(r)
						pos, load := f.least(key)
						absent.add(float64(f.keys[pos]))
						absentGuess.add(load.Keys)
						emptiest.add(float64(f.keys[f.emptiest(key)]))
						pos, load = f.least(f.added[r.IntN(len(f.added))])
						added.add(float64(f.keys[pos] - 1))
						addedGuess.add(load.Others)
					}
				}
				if emptiest.mean() < absent.mean() {
					t.Errorf("%.4f keys through the bit chosen, %.4f through that of the emptiest section", absent.mean(), emptiest.mean())
				}
				near(t, "keys through the bit of an absent key", absentGuess.mean(), absent)
				near(t, "others through the bit of an added key", 1+addedGuess.mean(), average{added.n, added.sum + added.n, added.squares + 2*added.sum + added.n})
			})
		}
	}
}

func near(t *testing.T, what string, guess float64, counted average) {
	t.Helper()
	t.Logf("%s: estimated %.4f, counted %.4f +- %.4f", what, guess, counted.mean(), counted.deviation())
	if off := math.Abs(guess - counted.mean()); off > 3*counted.deviation()+0.015*counted.mean() {
		t.Errorf("%s: estimated %.4f, counted %.4f +- %.4f", what, guess, counted.mean(), counted.deviation())
	}
}

// countedFilters are two filters, with the number of keys for each bit of their union.
type countedFilters struct {
	a, b  *Bits
	keys  map[uint64]int
	added [][]uint64
	odds  []float64 // cumulative odds, for each line, that a probe of it succeeds
}

func newCountedFilters(t *testing.T, r *rand.Rand, shape BitsShape, n int) *countedFilters {
	a, err := NewBits(shape)
	testenv.Check(t, err)
	b, err := NewBits(shape)
	testenv.Check(t, err)
	f := &countedFilters{a: a, b: b, keys: make(map[uint64]int)}
	for i := range n {
		h := randomHash(r)
		if i%3 == 0 {
			f.b.Set(h)
		}
		if i%3 != 0 || i%6 == 0 {
			f.a.Set(h)
		}
		positions := shape.Positions(h, nil)
		for _, pos := range positions {
			f.keys[pos]++
		}
		f.added = append(f.added, positions)
	}
	return f
}

// absentKey draws a key that was never added but is found in the union: two lines (or one),
// chosen by the odds that a probe of all their sections succeeds, and any set bit in each
// section.
func (f *countedFilters) absentKey(r *rand.Rand) (key []uint64) {
	size := uint64(1) << f.a.shape.section()
	for range f.a.shape.span() {
		from := f.drawLine(r) * lineBits
		for section := from; section < from+lineBits; section += size {
			set := f.setIn(section, section+size)
			key = append(key, set[r.IntN(len(set))])
		}
	}
	return key
}

func (f *countedFilters) drawLine(r *rand.Rand) uint64 {
	if f.odds == nil {
		size := uint64(1) << f.a.shape.section()
		sum := 0.0
		for from := uint64(0); from < f.a.shape.Size(); from += lineBits {
			odds := 1.0
			for section := from; section < from+lineBits; section += size {
				odds *= float64(len(f.setIn(section, section+size)))
			}
			sum += odds
			f.odds = append(f.odds, sum)
		}
	}
	at, _ := slices.BinarySearch(f.odds, r.Float64()*f.odds[len(f.odds)-1])
	return uint64(at)
}

// setIn returns the set bits in a range of positions.
func (f *countedFilters) setIn(from, to uint64) (set []uint64) {
	for pos := from; pos < to; pos++ {
		if f.keys[pos] > 0 {
			set = append(set, pos)
		}
	}
	return set
}

func (f *countedFilters) least(positions []uint64) (pos uint64, least Load) {
	for i, p := range positions {
		if l := LoadAt(p, f.a, nil, f.b); i == 0 || l.Keys < least.Keys {
			pos, least = p, l
		}
	}
	return pos, least
}

// emptiest returns the bit that would be chosen by the fill of its section alone.
func (f *countedFilters) emptiest(positions []uint64) (pos uint64) {
	size := uint64(1) << f.a.shape.section()
	least := size + 1
	for _, p := range positions {
		if n := uint64(len(f.setIn(p/size*size, p/size*size+size))); n < least {
			pos, least = p, n
		}
	}
	return pos
}

func TestLoadAt(t *testing.T) {
	shape := BitsShape{Lines: 4, K: 8}
	b, err := NewBits(shape)
	testenv.Check(t, err)
	if l := LoadAt(5, b); l != (Load{}) {
		t.Errorf("a clear bit has the load %+v", l)
	}
	b.SetCells([]Cell{{5, 1}})
	if l := LoadAt(5, b); math.Abs(l.Keys-1) > 0.01 || l.Others > 0.01 {
		t.Errorf("the only bit has the load %+v", l)
	}
	for pos := range shape.Size() {
		b.SetCells([]Cell{{pos, 1}})
	}
	// A full line may contain any number of keys. The estimate must be bounded.
	if l := LoadAt(5, b); l.Keys < 2 || l.Keys > 10 || math.IsNaN(l.Others) {
		t.Errorf("a bit of a full line has the load %+v", l)
	}
}
