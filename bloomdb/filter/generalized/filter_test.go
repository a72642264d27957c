package generalized

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func newFilter(t testing.TB, shape Shape) *Filter {
	t.Helper()
	g, err := New(shape)
	testenv.Check(t, err)
	return g
}

func encoded(t testing.TB, g *Filter) []byte {
	t.Helper()
	b, err := g.AppendBinary(nil)
	testenv.Check(t, err)
	return b
}

func TestShape(t *testing.T) {
	for _, tc := range []struct {
		shape Shape
		want  string // empty: valid
	}{
		{Shape{M: 64, K0: 1, K1: 1}, ""},
		{Shape{M: MaxBits, K0: 256, K1: 256}, ""},
		{Shape{M: 1000, K0: 0, K1: 4}, "k0 is 0"},
		{Shape{M: 1000, K0: 4, K1: 0}, "k1 is 0"},
		{Shape{M: 1000, K0: 256, K1: 257}, "at most 512 together"},
		{Shape{M: 1000, K0: 1, K1: math.MaxInt}, "at most 512 together"},
		{Shape{M: 63, K0: 2, K1: 2}, "m is 63, must be 64 to"},
		{Shape{M: 99, K0: 50, K1: 50}, "m is 99, must be 100 to"},
		{Shape{M: MaxBits + 1, K0: 2, K1: 2}, "m is 134217729"},
	} {
		_, err := New(tc.shape)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.shape, err, tc.want)
		}
	}
}

// The filter behaves like a plain set of positions that is changed and queried by the
// paper's rules, and its decoded bytes are the same filter.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := Shape{
			M:  rapid.Uint64Range(64, 200).Draw(t, "m"),
			K0: rapid.IntRange(1, 5).Draw(t, "k0"),
			K1: rapid.IntRange(1, 5).Draw(t, "k1"),
		}
		g, err := New(shape)
		testenv.Check(t, err)
		key := rapid.SliceOfN(rapid.Uint64Range(0, shape.M-1), shape.K0+shape.K1, shape.K0+shape.K1)
		model := make(map[uint64]bool)
		var keys [][]uint64
		for range rapid.IntRange(0, 40).Draw(t, "inserts") {
			x := key.Draw(t, "positions")
			keys = append(keys, x)
			g.Insert(x)
			for _, pos := range x[shape.K0:] {
				model[pos] = true
			}
			for _, pos := range x[:shape.K0] {
				delete(model, pos)
			}
			if !g.Has(x) {
				t.Fatalf("%v is not found right after it was inserted", x)
			}
		}
		read, err := Decode(encodedIn(t, g), shape)
		testenv.Check(t, err)
		for _, x := range append(keys, key.Draw(t, "another")) {
			want := true
			for i, pos := range x {
				own := slices.Contains(x[:shape.K0], pos)
				want = want && (i < shape.K0 && !model[pos] || i >= shape.K0 && (model[pos] || own))
			}
			if g.Has(x) != want || read.Has(x) != want {
				t.Fatalf("%v: found %v, read back %v, model has %v", x, g.Has(x), read.Has(x), want)
			}
		}
		for _, f := range []*Filter{g, read} {
			if f.Ones() != uint64(len(model)) || f.Inserted() != uint64(len(keys)) || f.Shape() != shape {
				t.Fatalf("%s: %d ones, %d inserted; model has %d, %d", f.Shape(), f.Ones(), f.Inserted(), len(model), len(keys))
			}
			if f.Error() > shape.FalsePositiveBound()*(1+1e-12) {
				t.Fatalf("error %v is above the bound %v", f.Error(), shape.FalsePositiveBound())
			}
		}
	})
}

func encodedIn(t *rapid.T, g *Filter) []byte {
	b, err := g.AppendBinary([]byte("before"))
	testenv.Check(t, err)
	return b[len("before"):]
}

// Calculated by hand: (k0/(k0+k1))^k0 (k1/(k0+k1))^k1.
func TestFalsePositiveBound(t *testing.T) {
	for _, tc := range []struct {
		k0, k1 int
		want   float64
	}{{2, 2, 0.0625}, {4, 4, 1.0 / 256}, {2, 3, 0.4 * 0.4 * 0.6 * 0.6 * 0.6}} {
		if got := (Shape{M: 65536, K0: tc.k0, K1: tc.k1}).FalsePositiveBound(); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("k=%d+%d: %v, want %v", tc.k0, tc.k1, got, tc.want)
		}
	}
}

// All ones, all zeros, or half of each: keys not chosen for the bits are found no more
// often than the bound.
func TestCannotBeSaturated(t *testing.T) {
	r := filtertest.Seeded(t, 9)
	shape := Shape{M: 65536, K0: 2, K1: 2}
	for _, tc := range []struct {
		p0        float64
		want      float64
		plausible bool
	}{{0, 0, false}, {1, 0, true}, {0.5, 0.0625, true}, {0.4, 0.0576, false}} {
		var ones []filter.Cell
		for pos := range shape.M {
			if r.Float64() >= tc.p0 {
				ones = append(ones, filter.Cell{Pos: pos, Value: 1})
			}
		}
		g, err := Of(shape, ones, 0)
		testenv.Check(t, err)
		const queries = 20000
		found := 0.0
		for range queries {
			if g.Has(shape.Positions(filtertest.Hash(r), nil)) {
				found++
			}
		}
		if want := tc.want * queries; math.Abs(found-want) > 5+4*math.Sqrt(want) {
			t.Errorf("p0=%v: %v of %d found, expected %.0f", tc.p0, found, queries, want)
		}
		if err := g.Plausible(); (err == nil) != tc.plausible {
			t.Errorf("p0=%v, %d ones: %v", tc.p0, g.Ones(), err)
		}
	}
}

// resealed returns changed bytes with a corrected checksum.
func resealed(b []byte, change func([]byte)) []byte {
	b = bytes.Clone(b)
	change(b)
	return binary.BigEndian.AppendUint32(b[:len(b)-4], crc32.Checksum(b[:len(b)-4], castagnoli))
}

func TestDecodeRefuses(t *testing.T) {
	r := filtertest.Seeded(t, 10)
	shape := Shape{M: 1003, K0: 2, K1: 3}
	g := newFilter(t, shape)
	for range 50 {
		g.Insert(shape.Positions(filtertest.Hash(r), nil))
	}
	good := encoded(t, g)
	if len(good) != shape.Bytes() {
		t.Errorf("%d bytes, Bytes returned %d", len(good), shape.Bytes())
	}
	other := shape
	other.K1 = 4
	for _, tc := range []struct {
		name string
		data []byte
		want Shape
		err  string
	}{
		{"empty", nil, shape, "do not begin with SBGN"},
		{"head only", good[:20], shape, "truncated at 20 bytes"},
		{"a byte less", good[:len(good)-1], shape, "has 154 bytes, m=1003 k0=2 k1=3 takes 155"},
		{"a byte more", append(bytes.Clone(good), 0), shape, "has 156 bytes"},
		{"another shape", good, other, "shape is m=1003 k0=2 k1=3, expected m=1003 k0=2 k1=4"},
		{"version", resealed(good, func(b []byte) { b[4] = 2 }), shape, "newer format (version 2; this program reads 1), made by a newer version of spambloom"},
		{"version 0", resealed(good, func(b []byte) { b[4] = 0 }), shape, "version 0, this program reads 1"},
		{"a flipped version", func() []byte { b := bytes.Clone(good); b[4] = 3; return b }(), shape, "version 3, this program reads 1"},
		{"k0 is 0", resealed(good, func(b []byte) { b[6] = 0 }), shape, "k0 is 0"},
		{"m without end", resealed(good, func(b []byte) { b[9] = 0xff }), shape, "m is 1837"},
		{"a bit beyond m", resealed(good, func(b []byte) { b[len(b)-5] |= 0x80 }), shape, "bits are set beyond m=1003"},
		{"a flipped bit", func() []byte { b := bytes.Clone(good); b[60] ^= 1; return b }(), shape, "checksum is"},
	} {
		if got, err := Decode(tc.data, tc.want); err == nil || got != nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
}

// Decoded data equals the encoded filter, byte by byte, and takes no more memory than its
// bytes.
func FuzzDecode(f *testing.F) {
	r := filtertest.Seeded(f, 11)
	for _, shape := range []Shape{{M: 64, K0: 1, K1: 1}, {M: 1003, K0: 2, K1: 3}, {M: 700, K0: 4, K1: 4}} {
		g := newFilter(f, shape)
		for range 20 {
			g.Insert(shape.Positions(filtertest.Hash(r), nil))
		}
		good := encoded(f, g)
		f.Add(good)
		f.Add(good[:len(good)-1])
		f.Add(resealed(good, func(b []byte) { b[len(b)-5] = 0xff }))
	}
	f.Add(resealed(make([]byte, headBytes+crcBytes), func(b []byte) {
		copy(b, magic+"\x01\x00\x02\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff")
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		shape, _, err := header(data)
		if err != nil {
			if g, err := Decode(data, shape); err == nil {
				t.Fatalf("a bad header, but decoded %+v", g.Shape())
			}
			return
		}
		g, err := Decode(data, shape)
		if err != nil {
			return
		}
		if 8*len(g.words) > len(data)+8 || g.Ones() > shape.M {
			t.Fatalf("%d bytes became %d words with %d ones", len(data), len(g.words), g.Ones())
		}
		if again := encoded(t, g); !bytes.Equal(again, data) {
			t.Fatalf("encoded again: %x, was %x", again, data)
		}
	})
}

// Positions behave like independent random ones. In a filter of zeros a key is found only if all
// its setting positions are also resetting ones. With the multiples of Hash.Sequence that
// affects some 20 of a million keys here, with independent positions less than one.
func TestPositionsDoNotCoincide(t *testing.T) {
	r := filtertest.Seeded(t, 13)
	shape := Shape{M: 16384, K0: 2, K1: 2}
	g := newFilter(t, shape)
	var buf [4]uint64
	found := 0
	for range 1_000_000 {
		if g.Has(shape.Positions(filtertest.Hash(r), buf[:0])) {
			found++
		}
	}
	if found > 2 {
		t.Errorf("%d keys of a million are found in a filter of zeros", found)
	}
	for _, shape := range []Shape{{M: 1000, K0: 1, K1: 1}, {M: 1000, K0: 3, K1: 10}} {
		positions := shape.Positions(filtertest.Hash(r), nil)
		if len(positions) != shape.K0+shape.K1 || slices.Max(positions) >= shape.M {
			t.Errorf("%s: %v", shape, positions)
		}
	}
}

// A retracted key is not found. Repeating the changes from some point on, in order and to the
// last, results in the same bits.
func TestRetract(t *testing.T) {
	shape := Shape{M: 64, K0: 2, K1: 3} // so small that keys collide
	rapid.Check(t, func(t *rapid.T) {
		type step struct {
			key     []uint64
			retract bool
		}
		position := rapid.SliceOfN(rapid.Uint64Range(0, shape.M-1), shape.K0+shape.K1, shape.K0+shape.K1)
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{position.Draw(t, "key"), rapid.Bool().Draw(t, "retract")}
		}), 1, 20).Draw(t, "steps")
		g, err := New(shape)
		testenv.Check(t, err)
		tell := func(s step) {
			if s.retract {
				g.Retract(s.key)
			} else {
				g.Insert(s.key)
			}
			if g.Has(s.key) == s.retract {
				t.Fatalf("%v found: %v", s, !s.retract)
			}
		}
		for _, s := range steps {
			tell(s)
		}
		want := g.Cells(nil)
		for _, s := range steps[rapid.IntRange(0, len(steps)-1).Draw(t, "from"):] {
			tell(s)
		}
		if got := g.Cells(nil); !slices.Equal(got, want) || uint64(len(got)) != g.Ones() {
			t.Fatalf("repeated: %v, were %v", got, want)
		}
		again, err := Of(shape, want, 7)
		if err != nil || !slices.Equal(again.Cells(nil), want) || again.Inserted() != 7 {
			t.Fatalf("made of its cells: %v", err)
		}
	})
}

func TestOfRefuses(t *testing.T) {
	shape := Shape{M: 64, K0: 1, K1: 1}
	for _, tc := range []struct {
		ones []filter.Cell
		want string
	}{
		{[]filter.Cell{{Pos: 64, Value: 1}}, "bit 64 is set, beyond m=64 k0=1 k1=1"},
		{[]filter.Cell{{Pos: 70, Value: 1}, {Pos: 3, Value: 1}}, "not ascending"},
	} {
		if _, err := Of(shape, tc.ones, 0); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.ones, err, tc.want)
		}
	}
	if _, err := Of(Shape{M: 64}, nil, 0); err == nil {
		t.Error("a shape without functions was accepted")
	}
}
