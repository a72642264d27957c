package papers

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func mustClassic(t rapid.TB, m uint64, k int) *Classic {
	t.Helper()
	c, err := NewClassic(m, k)
	testenv.Check(t, err)
	return c
}

// A Classic finds what is in a plain set of positions, before and after an Or,
// and returns how many ones it has.
func TestClassicModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64Range(1, 700).Draw(t, "m")
		k := rapid.IntRange(1, 9).Draw(t, "k")
		key := rapid.SliceOfN(rapid.Uint64Range(0, m-1), k, k)
		filters := make([]*Classic, 2)
		model := make([]map[uint64]bool, 2)
		for i := range filters {
			var err error
			if filters[i], err = NewClassic(m, k); err != nil {
				t.Fatal(err)
			}
			model[i] = make(map[uint64]bool)
			for _, positions := range rapid.SliceOfN(key, 0, 20).Draw(t, "keys") {
				filters[i].Set(positions)
				for _, pos := range positions {
					model[i][pos] = true
				}
			}
			if rapid.Bool().Draw(t, "clear one") {
				pos := rapid.Uint64Range(0, m-1).Draw(t, "cleared")
				if was := filters[i].ClearBit(pos); was != model[i][pos] {
					t.Fatalf("bit %d was set: %v, model: %v", pos, was, model[i][pos])
				}
				delete(model[i], pos)
			}
		}
		testenv.Check(t, filters[0].Or(filters[1]))
		for pos := range model[1] {
			model[0][pos] = true
		}
		for i, f := range filters {
			if int(f.Ones()) != len(model[i]) || f.Fill() != float64(len(model[i]))/float64(m) {
				t.Fatalf("%d ones, fill %v, model has %d of %d", f.Ones(), f.Fill(), len(model[i]), m)
			}
			for range 20 {
				positions, want := key.Draw(t, "asked"), true
				for _, pos := range positions {
					want = want && model[i][pos]
				}
				if f.Has(positions) != want {
					t.Fatalf("positions %v: %v, model %v", positions, !want, want)
				}
			}
		}
	})
}

func TestClassicRefuses(t *testing.T) {
	for _, tc := range []struct {
		m    uint64
		k    int
		want string
	}{
		{0, 4, "m is 0"},
		{maxPositions + 1, 4, "m is 68719476737"},
		{math.MaxUint64, 4, "m is 18446744073709551615"},
		{100, 0, "k is 0"},
		{100, -1, "k is -1"},
		{100, MaxK + 1, "k is 65"},
	} {
		if _, err := NewClassic(tc.m, tc.k); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("m=%d k=%d: %v, want %q", tc.m, tc.k, err, tc.want)
		}
	}
	a, b := mustClassic(t, 100, 4), mustClassic(t, 101, 3)
	a.SetBit(7)
	b.SetBit(8)
	if err := a.Or(b); err == nil || !strings.Contains(err.Error(), "m=100 k=4") || !strings.Contains(err.Error(), "m=101 k=3") {
		t.Errorf("or of different filters: %v", err)
	}
	if a.Ones() != 1 {
		t.Errorf("a refused or changed the filter: %d ones", a.Ones())
	}
}

// Eq. 1 against numbers worked by hand, and against filters with keys from each
// family: the measured error is within four standard deviations, and what Error
// reads off the bits is near it.
func TestClassicError(t *testing.T) {
	// 1 - (9/10)^(2*3) = 0.468559, squared.
	if got := ClassicError(10, 3, 2); math.Abs(got-0.468559*0.468559) > 1e-9 {
		t.Errorf("m=10 n=3 k=2: %v", got)
	}
	r := seeded(t, 11)
	const m, n, k, asked = 40_000, 5000, 4, 100_000
	u, err := DrawUniversal(m, k, r)
	testenv.Check(t, err)
	families := map[string]func() []uint64{
		"drawn":     func() []uint64 { return []uint64{r.Uint64N(m), r.Uint64N(m), r.Uint64N(m), r.Uint64N(m)} },
		"universal": func() []uint64 { return u.Positions(1+r.Uint64N(UniversalPrime-1), nil) },
		"lanes":     func() []uint64 { return Positions(DrawHash(r), m, k, nil) },
	}
	want := ClassicError(m, n, k)
	for name, draw := range families {
		c := mustClassic(t, m, k)
		for range n {
			c.Set(draw())
		}
		if got := c.Error(); math.Abs(got/want-1) > 0.1 {
			t.Errorf("%s: error of the bits %v, want %v", name, got, want)
		}
		found := 0
		for range asked {
			if c.Has(draw()) {
				found++
			}
		}
		if d := float64(found) - asked*c.Error(); math.Abs(d) > 4*math.Sqrt(asked*want)+2 {
			t.Errorf("%s: %d of %d found, want %.0f", name, found, asked, asked*c.Error())
		}
	}
}

// At 40 bits a key and k=16 Eq. 1 expects 0.02 of a million keys to be found.
// Double hashing (a += b alone) finds some 30 of them in a small filter, since a
// key need only have the same two starts as one that is there.
func TestLanesHaveNoFloor(t *testing.T) {
	r := seeded(t, 12)
	const n, m, k = 50, 2000, 16
	c := mustClassic(t, m, k)
	var buf [k]uint64
	for range n {
		c.Set(Positions(DrawHash(r), m, k, buf[:0]))
	}
	found := 0
	for range 1_000_000 {
		if c.Has(Positions(DrawHash(r), m, k, buf[:0])) {
			found++
		}
	}
	if found > 3 {
		t.Errorf("%d found", found)
	}
}

func TestUniversal(t *testing.T) {
	u, err := newUniversal(1000, []universalFunction{{C: 1, D: 0}, {C: 2, D: 5}, {C: UniversalPrime - 1, D: UniversalPrime - 1}})
	testenv.Check(t, err)
	// c=p-1, d=p-1: -x-1 mod p.
	for _, tc := range []struct {
		x    uint64
		want [3]uint64
	}{
		{1, [3]uint64{1, 7, (UniversalPrime - 2) % 1000}},
		{UniversalPrime - 1, [3]uint64{10, 3, 0}},
		{UniversalPrime + 1, [3]uint64{1, 7, (UniversalPrime - 2) % 1000}},
	} {
		if got := [3]uint64(u.Positions(tc.x, nil)); got != tc.want {
			t.Errorf("key %d: %v, want %v", tc.x, got, tc.want)
		}
	}
	if !big.NewInt(UniversalPrime).ProbablyPrime(20) {
		t.Error("p is not prime")
	}
}

// The constants that are drawn are spread over all that Eq. 2 allows: each of 16
// equal ranges has its share of the c, and of the d.
func TestDrawUniversal(t *testing.T) {
	r := seeded(t, 3)
	const draws, k, ranges = 100, MaxK, 16
	var c, d [ranges]int
	for range draws {
		u, err := DrawUniversal(1000, k, r)
		testenv.Check(t, err)
		for _, f := range u.f {
			c[f.C*ranges/UniversalPrime]++
			d[f.D*ranges/UniversalPrime]++
		}
	}
	const want = draws * k / ranges
	for i := range ranges {
		if math.Abs(float64(c[i]-want)) > 5*math.Sqrt(want) || math.Abs(float64(d[i]-want)) > 5*math.Sqrt(want) {
			t.Errorf("range %d of %d: %d of c, %d of d, want about %d", i, ranges, c[i], d[i], want)
		}
	}
}

// Products of the largest keys and constants do not overflow.
func TestUniversalAgainstBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := universalFunction{
			C: rapid.Uint64Range(1, UniversalPrime-1).Draw(t, "c"),
			D: rapid.Uint64Range(0, UniversalPrime-1).Draw(t, "d"),
		}
		m := rapid.Uint64Range(1, UniversalPrime).Draw(t, "m")
		x := rapid.Uint64().Draw(t, "x")
		u, err := newUniversal(m, []universalFunction{f})
		testenv.Check(t, err)
		y := new(big.Int).SetUint64(x)
		y.Mul(y, new(big.Int).SetUint64(f.C)).Add(y, new(big.Int).SetUint64(f.D))
		y.Mod(y, big.NewInt(UniversalPrime)).Mod(y, new(big.Int).SetUint64(m))
		if got := u.Positions(x, nil)[0]; got != y.Uint64() {
			t.Fatalf("%d, want %v", got, y)
		}
	})
}

func TestUniversalRefuses(t *testing.T) {
	ok := universalFunction{C: 1}
	for name, tc := range map[string]struct {
		m    uint64
		f    []universalFunction
		want string
	}{
		"m of 0":       {0, []universalFunction{ok}, "m is 0"},
		"m above p":    {UniversalPrime + 1, []universalFunction{ok}, "at most p"},
		"no functions": {10, nil, "k is 0"},
		"c of 0":       {10, []universalFunction{ok, {C: 0, D: 1}}, "function 1: c is 0"},
		"c of p":       {10, []universalFunction{{C: UniversalPrime}}, "c is 2100000011"},
		"d of p":       {10, []universalFunction{{C: 1, D: UniversalPrime}}, "d is 2100000011"},
	} {
		if _, err := newUniversal(tc.m, tc.f); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := DrawUniversal(10, -1, seeded(t, 1)); err == nil {
		t.Error("k of -1 was taken")
	}
}

// The pieces are the digest's bits as one large number says, and none lies
// beyond the utilisable size.
func TestChunksAgainstBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{16, 20, 32, 64}).Draw(t, "bytes")
		k := rapid.SampledFrom([]int{1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 64}).Draw(t, "k")
		m := rapid.Uint64Range(1, maxPositions).Draw(t, "m")
		c, err := NewChunks(m, k, size)
		if size*8%k != 0 {
			if err == nil {
				t.Fatalf("%d bits in %d pieces were taken", size*8, k)
			}
			return
		}
		testenv.Check(t, err)
		digest := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "digest")
		got, err := c.Positions(digest, nil)
		if err != nil || len(got) != k {
			t.Fatalf("%d positions, %v", len(got), err)
		}
		width := uint(size * 8 / k)
		for i, pos := range got {
			piece := new(big.Int).SetBytes(digest)
			piece.Rsh(piece, width*uint(k-1-i))
			piece.Mod(piece, new(big.Int).Lsh(big.NewInt(1), width))
			piece.Mod(piece, new(big.Int).SetUint64(m))
			if pos != piece.Uint64() {
				t.Fatalf("piece %d is %d, want %v", i, pos, piece)
			}
			if pos >= c.Utilisable() {
				t.Fatalf("position %d beyond the utilisable %d", pos, c.Utilisable())
			}
		}
	})
}

func TestChunksUtilisable(t *testing.T) {
	const large = 1 << 36
	for _, tc := range []struct {
		name     string
		m        uint64
		k, bytes int
		want     uint64
	}{
		{"MD5, k=4", large, 4, 16, 1 << 32},
		{"MD5, k=8", large, 8, 16, 1 << 16},
		{"SHA-1, k=8", large, 8, 20, 1 << 20},
		{"SHA-256, k=8", large, 8, 32, 1 << 32},
		{"SHA-256, k=16", 400_000, 16, 32, 65_536},
		{"small filter", 1000, 8, 16, 1000},
		{"one piece of 256 bits", large, 1, 32, large},
		{"pieces of 64 bits", large, 4, 32, large},
	} {
		c, err := NewChunks(tc.m, tc.k, tc.bytes)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if got := c.Utilisable(); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestChunksRefuse(t *testing.T) {
	for _, tc := range []struct {
		m        uint64
		k, bytes int
		want     string
	}{
		{0, 4, 16, "m is 0"},
		{10, 0, 16, "k is 0"},
		{10, 3, 16, "k is 3, must divide 128 bits"},
		{10, 4, 0, "it has 0 bytes"},
		{10, 4, 65, "it has 65 bytes"},
	} {
		if _, err := NewChunks(tc.m, tc.k, tc.bytes); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("m=%d k=%d %d bytes: %v, want %q", tc.m, tc.k, tc.bytes, err, tc.want)
		}
	}
	c, err := NewChunks(10, 4, 16)
	testenv.Check(t, err)
	if _, err := c.Positions(make([]byte, 15), nil); err == nil || !strings.Contains(err.Error(), "15 bytes, must be 16") {
		t.Errorf("short digest: %v", err)
	}
}
