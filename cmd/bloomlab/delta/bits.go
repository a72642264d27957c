package delta

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const lineBits = 512

// span is the number of lines with a key's bits.
func span(s filter.BitsShape) int { return 2 - s.Span%2 }

// sections are those of a line, of so many bits each.
func sections(s filter.BitsShape) (n, bits int) {
	n = s.K / span(s)
	return n, lineBits / n
}

// newBits are the bits that n new keys set in a filter that holds so many others,
// ascending. The others are drawn in the touched lines only: so many halves of keys
// (whole ones where a key has one line) as a line of a filter of held keys has.
func newBits(r *rand.Rand, s filter.BitsShape, held float64, n int) []filter.Cell {
	positions := make([]uint64, 0, n*s.K)
	for range n {
		positions = s.Positions(papers.DrawHash(r), positions)
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	load := held * float64(span(s)) / float64(s.Lines)
	var cells []filter.Cell
	var there [lineBits]bool
	for i, pos := range positions {
		if i == 0 || pos/lineBits != positions[i-1]/lineBits {
			there = lineOf(r, s, load)
		}
		if !there[pos%lineBits] {
			cells = append(cells, filter.Cell{Pos: pos, Value: 1})
		}
	}
	return cells
}

// lineOf draws the set bits of a line.
func lineOf(r *rand.Rand, s filter.BitsShape, load float64) (there [lineBits]bool) {
	n, bits := sections(s)
	for range lab.Poisson(r, load) {
		for j := range n {
			there[j*bits+r.IntN(bits)] = true
		}
	}
	return there
}

// entropy returns the least average code of a new key's bits for a reader who does not know
// the keys, in bits per key. It is the entropy of the number of new keys of a line, which is
// Poisson, of the number of new bits in a section, and of their places in the section. It
// ignores that two bits of a line may be equal, and that lines differ in their fill.
func entropy(s filter.BitsShape, held, n float64) float64 {
	load := n * float64(span(s)) / float64(s.Lines)
	count, size := sections(s)
	fresh := 1 - s.Fill(held)
	perLine := 0.0
	p := math.Exp(-load)
	for x := 0; x < 60; x++ {
		perLine -= xlog2(p)
		for c := 0; c <= x; c++ {
			q := choose(x, c) * math.Pow(fresh, float64(c)) * math.Pow(1-fresh, float64(x-c))
			perLine += p * float64(count) * (q*math.Log2(choose(size, c)) - xlog2(q))
		}
		p *= load / float64(x+1)
	}
	return perLine * float64(s.Lines) / n
}

func xlog2(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log2(p)
}

func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Round(math.Exp(a - b - c))
}
