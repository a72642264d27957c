package beyond

import (
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// Of each traffic, this many keys are counted in filters of 8 cells a key, k=4.
const (
	splitKeys  = 16_384
	splitCells = 8 * splitKeys
	splitK     = 4
	splitChunk = 4096 // cells of a chunk, in both split stores
)

// traffic is the distribution of counts in an assumed stream of mail.
type traffic struct {
	name string
	draw func(r *rand.Rand) uint32
}

var traffics = []traffic{
	{"mail-like", mailLike},
	{"Zipf", zipf},
}

// heaviest is where counts are cut off.
const heaviest = 100_000

// mailLike has 85 % of messages that arrive once. Another message arrives more than 2x
// times with a chance of 1/x.
func mailLike(r *rand.Rand) uint32 {
	if r.Float64() < 0.85 {
		return 1
	}
	return uint32(min(heaviest, 2/(1-r.Float64())))
}

// zipf has messages that arrive more than x times with a chance of 1/x.
func zipf(r *rand.Rand) uint32 { return uint32(min(heaviest, 1/(1-r.Float64()))) }

// split compares the memory of the stores, and the counts that they cut off. The result
// depends mainly on the assumed counts.
func split() lab.Experiment {
	e := lab.Experiment{
		Name:   "split",
		Title:  "bits a cell for mail-like and Zipf counts: flat, split with flag, split with escape",
		Source: "beyond the papers; the split store is Yan & Cho 2006, section IV",
	}
	for _, t := range traffics {
		for _, width := range []int{5, 8, 16, 32} {
			e.Trials = append(e.Trials, t.flat(width))
		}
		e.Trials = append(e.Trials, t.flag(), t.escape())
	}
	return e
}

// atLeast is the chance of a count of at least n, 2 or more.
func (t traffic) atLeast(n float64) float64 {
	switch {
	case n > heaviest:
		return 0
	case t.name == "Zipf":
		return 1 / n
	}
	return 0.15 * min(1, 2/n)
}

func (t traffic) cells(store string, bits float64, tolerance func(lab.Summary) float64, why string, most float64) []lab.Cell {
	cut := t.atLeast(most + 1)
	return []lab.Cell{
		lab.Cell{Name: t.name + " " + store + ", bits a cell", Paper: lab.None, Tolerance: tolerance, Why: why}.Expect(bits),
		lab.Cell{
			Name: t.name + " " + store + ", keys cut short", Paper: lab.None,
			Tolerance: lab.Events(splitKeys, cut, 0), Why: "4 standard errors around the chance of a larger count",
		}.Expect(cut),
	}
}

func (t traffic) flat(width int) lab.Trial {
	name := map[int]string{5: "flat 5", 8: "flat 8", 16: "flat 16", 32: "flat 32"}[width]
	const padding = 64.0 / splitCells // bits
	return lab.Trial{
		Cells: t.cells(name, float64(width), lab.Within(padding), "the width, and 8 bytes of padding", math.Exp2(float64(width))-1),
		New: func(*rand.Rand) lab.Round {
			cells := lab.Must(papers.NewFlat(splitCells, width))
			return t.counting(cells)
		},
	}
}

const whySplit = "base, pointers, and tables of twice the size whenever they are three quarters full; 1 % for cells that keys share"

// flag is the paper's store: 3 bits and a flag, and 32 bytes for each chunk's
// table. Cells that hold 8 or more are anywhere, so that a chunk has a Poisson
// number of them.
func (t traffic) flag() lab.Trial {
	heavy := splitKeys * t.atLeast(8) * splitK / splitCells // hits of a cell
	bits := 4 + 32.0*8/splitChunk + tableBits(splitChunk*-math.Expm1(-heavy), 1, 4)
	return lab.Trial{
		Cells: t.cells("split 3+1", bits, lab.Plus(lab.StandardErrors, 0.01*bits), whySplit, math.Inf(1)),
		New: func(*rand.Rand) lab.Round {
			shape := papers.SplitShape{Cells: splitCells, Bits: 3, Chunks: splitCells / splitChunk}
			return t.counting(lab.Must(papers.NewSplit(shape)))
		},
	}
}

// tableBits are the bits a cell that a chunk's table takes, with a Poisson number
// of keys of so many cells each in it. The smallest table has first slots.
func tableBits(mean float64, cells, first int) float64 {
	bits := 0.0
	for keys := 1.0; keys < mean+12*math.Sqrt(mean)+20; keys++ {
		slots := first
		for 4*cells*int(keys) > 3*slots {
			slots *= 2
		}
		lg, _ := math.Lgamma(keys + 1)
		bits += math.Exp(keys*math.Log(mean)-mean-lg) * float64(slots) * 32 / splitChunk
	}
	return bits
}

// counting counts a draw of keys in a refined filter on cells.
func (t traffic) counting(cells papers.Cells) lab.Round {
	c := lab.Must(papers.NewCounting(papers.Refined, splitK, cells))
	hashes, truth := make([]filter.Hash, splitKeys), make([]uint32, splitKeys)
	var buf [splitK]uint64
	return func(r *rand.Rand, out []float64) {
		c.Reset()
		for i := range hashes {
			hashes[i], truth[i] = papers.DrawHash(r), t.draw(r)
			c.Add(papers.Positions(hashes[i], splitCells, splitK, buf[:0]), truth[i])
		}
		out[0], out[1] = float64(cells.Bytes())*8/splitCells, 0
		for i, h := range hashes {
			if c.Count(papers.Positions(h, splitCells, splitK, buf[:0])) < truth[i] {
				out[1] += 1.0 / splitKeys
			}
		}
	}
}

// escape is the program's own store: 4 bits, of which 15 means that the count is in the
// chunk's table, and 8 bytes for the table's pointer. A key's cells are all in one
// line, so that a chunk has a Poisson number of keys above 14.
func (t traffic) escape() lab.Trial {
	bits := 4 + 8.0*8/splitChunk + tableBits(splitKeys*t.atLeast(15)*splitChunk/splitCells, splitK, 8)
	return lab.Trial{
		Cells: t.cells("split with escape", bits, lab.Plus(lab.StandardErrors, 0.01*bits), whySplit, math.Inf(1)),
		New: func(*rand.Rand) lab.Round {
			hashes, truth := make([]filter.Hash, splitKeys), make([]uint32, splitKeys)
			return func(r *rand.Rand, out []float64) {
				c := lab.Must(filter.NewCounts(filter.CountsShape{Lines: splitCells / 128}))
				for i := range hashes {
					hashes[i], truth[i] = papers.DrawHash(r), t.draw(r)
					c.Add(hashes[i], truth[i])
				}
				out[0], out[1] = float64(c.Bytes())*8/splitCells, 0
				for i, h := range hashes {
					if c.Count(h) < truth[i] {
						out[1] += 1.0 / splitKeys
					}
				}
			}
		},
	}
}
