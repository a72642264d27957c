package filter

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func hash(r *rand.Rand) Hash { return Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()} }

func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func TestHashBytes(t *testing.T) {
	r := seeded(t, 1)
	for range 100 {
		h := hash(r)
		if got := HashBytes(h.Bytes()); got != h {
			t.Fatalf("%v became %v", h, got)
		}
	}
}

func TestCountsShapesFromOutside(t *testing.T) {
	for _, s := range []CountsShape{{}, {Lines: MaxLines + 1}, {Lines: math.MaxUint64}} {
		if _, err := NewCounts(s); err == nil {
			t.Errorf("counts %+v: no error", s)
		}
	}
}

// A count is never too low, and never above that of an intuitive counting filter (the sum
// over all keys that share each cell).
func TestCountsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := CountsShape{Lines: rapid.Uint64Range(1, 70).Draw(t, "lines")}
		c, err := NewCounts(shape)
		testenv.Check(t, err)
		truth := make(map[Hash]uint32)
		intuitive := make(map[uint64]uint32)
		keys := rapid.IntRange(1, 40).Draw(t, "keys")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		known := make([]Hash, keys)
		for i := range known {
			known[i] = hash(r)
		}
		for range rapid.IntRange(0, 300).Draw(t, "adds") {
			h, d := known[r.IntN(keys)], uint32(r.IntN(40)+1)
			truth[h] += d
			for _, p := range shape.Positions(h) {
				intuitive[p] += d
			}
			if got := c.Add(h, d); got != c.Count(h) {
				t.Fatalf("Add returned %d, count %d", got, c.Count(h))
			}
		}
		for h, n := range truth {
			upper := uint32(math.MaxUint32)
			for _, p := range shape.Positions(h) {
				upper = min(upper, intuitive[p])
			}
			if got := c.Count(h); got < n || got > upper {
				t.Fatalf("count %d, added %d times, at most %d", got, n, upper)
			}
		}
	})
}

func TestCountsRaiseIsIdempotent(t *testing.T) {
	r := seeded(t, 4)
	a, _ := NewCounts(CountsShape{Lines: 64})
	b, _ := NewCounts(CountsShape{Lines: 64})
	type step struct {
		h Hash
		t uint32
	}
	var log []step
	for range 2000 {
		h := Hash{r.Uint64N(200) << 50, r.Uint64N(3)}
		log = append(log, step{h, a.Add(h, uint32(r.IntN(5)+1))})
	}
	for range 3 { // in any order, any number of times
		r.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		for _, s := range log {
			b.Raise(s.h, s.t)
		}
	}
	for i := range Blocks(a.Shape().Size(), true) {
		if !slices.Equal(a.Block(i, nil), b.Block(i, nil)) {
			t.Fatalf("block %d differs", i)
		}
	}
	if a.Used() != b.Used() {
		t.Errorf("used %d and %d", a.Used(), b.Used())
	}
}

func TestCountsSaturate(t *testing.T) {
	c, _ := NewCounts(CountsShape{Lines: 32})
	h := Hash{1, 2}
	c.Add(h, MaxValue-1)
	c.Add(h, 100)
	if got := c.Count(h); got != MaxValue {
		t.Errorf("count %d, want %d", got, MaxValue)
	}
	if got := c.Add(Hash{3, 4}, math.MaxUint32); got != MaxValue || c.Count(Hash{3, 4}) != MaxValue {
		t.Errorf("a count beyond MaxValue became %d, then %d", got, c.Count(Hash{3, 4}))
	}
	r := seeded(t, 5)
	for range 3000 { // one chunk of 4,096 cells, far more than 512 of them above 14
		c.Add(hash(r), 20)
	}
	if c.Saturated() == 0 {
		t.Error("no raise was lost to a full overflow table")
	}
	if limit := int64(32*64 + 8 + 1024*4); c.Bytes() > limit {
		t.Errorf("%d bytes, must be at most %d", c.Bytes(), limit)
	}
	if got := c.Count(h); got != MaxValue {
		t.Errorf("an earlier count is %d", got)
	}
}

func TestCountsParallel(t *testing.T) {
	c, _ := NewCounts(SizeCounts(1000))
	var wg sync.WaitGroup
	const adds = 2000
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 6))
			for range adds {
				c.Add(Hash{7, 7}, 1)
				c.Add(hash(r), 1)
				c.Count(hash(r))
			}
		})
	}
	wg.Wait()
	if got := c.Count(Hash{7, 7}); got < 4*adds {
		t.Errorf("count %d, added %d times", got, 4*adds)
	}
	used := int64(0)
	for i := range Blocks(c.Shape().Size(), true) {
		used += int64(len(c.Block(i, nil)))
	}
	if c.Used() != used || c.Changes() != 8*adds {
		t.Errorf("%d cells used, there are %d; %d changes, there were %d", c.Used(), used, c.Changes(), 8*adds)
	}
}

// The first lane starts the sequence, the second is its step, and the third the step of the
// second.
func TestSequence(t *testing.T) {
	h := hash(seeded(t, 6))
	seq := h.Sequence(1_000_003)
	for i := range uint64(20) {
		want := Reduce(h[0]+i*h[1]+i*(i-1)/2*h[2], 1_000_003)
		if got := seq(); got != want {
			t.Fatalf("position %d is %d, want %d", i, got, want)
		}
	}
}
