package crosscheck

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// bank has the filters of several structures, each once: structures with common keys share
// filters.
type bank struct {
	queries int
	filters []keyed
	mains   []main
}

// keyed is a filter and the number of keys it gets.
type keyed struct {
	*papers.Classic
	part     part
	multiple int
	keys     int
}

// main is a filter of all keys, with all structures that ask it first.
type main struct {
	*papers.Classic
	checks []check
}

// check is what a structure does with a positive of its main filter.
type check struct {
	cross *papers.CrossCheck // nil: a single filter, without classes
	out   int
}

func (t table) newBank(structures []structure) *bank {
	b := &bank{queries: t.queries}
	for i, s := range structures {
		var parts []*papers.Classic
		for j, p := range s.parts() {
			parts = append(parts, b.filter(t, p, s.multiples[j]))
		}
		c := check{out: i}
		if len(parts) > 1 {
			c.cross = lab.Must(papers.NewCrossCheck(parts[0], parts[1:]...))
		}
		b.check(parts[0], c)
	}
	return b
}

// filter finds or makes a filter.
func (b *bank) filter(t table, p part, multiple int) *papers.Classic {
	for _, f := range b.filters {
		if f.part == p && f.multiple == multiple {
			return f.Classic
		}
	}
	c := lab.Must(papers.NewClassic(t.size(p, multiple), hashes(multiple)))
	b.filters = append(b.filters, keyed{c, p, multiple, t.keys(p)})
	return c
}

// check adds a structure to its main filter.
func (b *bank) check(first *papers.Classic, c check) {
	for i := range b.mains {
		if b.mains[i].Classic == first {
			b.mains[i].checks = append(b.mains[i].checks, c)
			return
		}
	}
	b.mains = append(b.mains, main{first, []check{c}})
}

// fill adds random keys to all filters. The positions of a key in two filters are
// independent, so each filter can be filled by itself.
func (b *bank) fill(r *rand.Rand) {
	for _, f := range b.filters {
		fillFilter(f.Classic, f.keys, r)
	}
}

// piece is a part of a filter that stays in the first-level cache, 8 KiB; a draw
// has four positions in it.
const piece = 1 << 16

// fillFilter sets the positions of random keys. All positions together are keys*k
// independent draws, whose order does not matter. So fillFilter first draws the number of
// positions in each piece of the filter, and then the positions. The result is the same as
// with single draws, but without their cache misses.
func fillFilter(f *papers.Classic, keys int, r *rand.Rand) {
	f.Reset()
	left := keys * f.K()
	for from, m := uint64(0), f.Size(); from < m; from += piece {
		size, n := min(piece, m-from), left
		if from+size < m && left > 0 {
			n = int(distuv.Binomial{N: float64(left), P: float64(size) / float64(m-from), Src: r}.Rand())
		}
		left -= n
		for ; n >= 4 && size == piece; n -= 4 {
			x := r.Uint64()
			f.SetBit(from + x%piece)
			f.SetBit(from + x>>16%piece)
			f.SetBit(from + x>>32%piece)
			f.SetBit(from + x>>48)
		}
		for ; n > 0; n-- {
			f.SetBit(from + high(r.Uint64(), size))
		}
	}
}

// high and low make two positions below m out of one draw. They are uniform up to
// m/2^32, which is less than 1 % of the mean for the largest filter, and as
// likely too much as too little.
func high(x, m uint64) uint64 { return x >> 32 * m >> 32 }
func low(x, m uint64) uint64  { return x & (1<<32 - 1) * m >> 32 }

// query looks up keys that were never added, and sets out to the number that each structure
// finds.
func (b *bank) query(r *rand.Rand, out []float64) {
	clear(out)
	scratch := make([]uint64, 0, papers.MaxK)
	for _, m := range b.mains {
		positives(m.Classic, b.queries, r, func(inMain []uint64) {
			for _, c := range m.checks {
				if c.cross == nil || c.found(inMain, r, scratch) {
					out[c.out]++
				}
			}
		})
	}
}

// found draws the key's positions in the class filters, into scratch.
func (c check) found(inMain []uint64, r *rand.Rand, scratch []uint64) bool {
	return c.cross.Query(inMain, func(i int) []uint64 {
		class := c.cross.Class(i)
		return appendPositions(scratch[:0], class, class.K(), r)
	}) != 0
}

// block is the number of keys looked up at a time.
const block = 256

// positives draws keys that were never added, and reports the positions of those that a
// filter finds. Most keys are not found, and the rest of their positions is not needed. So
// two positions of each key of a block are drawn first and looked up without a branch, so
// that the cache misses of the lookups overlap.
func positives(f *papers.Classic, queries int, r *rand.Rand, tell func(positions []uint64)) {
	var first [block][2]uint64
	var positions [papers.MaxK]uint64
	m, k := f.Size(), f.K()
	for left := queries; left > 0; left -= block {
		alive := 0
		for range min(block, left) {
			x := r.Uint64()
			p, q := high(x, m), low(x, m)
			if k == 1 {
				q = p
			}
			first[alive] = [2]uint64{p, q}
			alive += number(f.Bit(p)) & number(f.Bit(q))
		}
		for _, two := range first[:alive] {
			n := min(k, 2)
			if positions := appendPositions(append(positions[:0], two[:n]...), f, k-n, r); f.Has(positions[n:]) {
				tell(positions)
			}
		}
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendPositions draws n positions of a key.
func appendPositions(dst []uint64, f *papers.Classic, n int, r *rand.Rand) []uint64 {
	m := f.Size()
	for ; n > 1; n -= 2 {
		x := r.Uint64()
		dst = append(dst, high(x, m), low(x, m))
	}
	if n > 0 {
		dst = append(dst, high(r.Uint64(), m))
	}
	return dst
}
