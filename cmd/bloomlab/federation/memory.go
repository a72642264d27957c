package federation

import (
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// scale is the divisor of messages, reports and filters where the held data is drawn. The
// cells of a block, the keys of a line and the sites are not scaled. All rows are
// therefore the same, except that filters are rounded up to whole blocks.
const scale = 500

// countKeep is the number of kept generations of counts.
const countKeep = 2

// geometry is the size of the sites' counting filters, and the number of folded ones.
type geometry struct {
	name   string
	cells  float64 // a key of the site's own; 0: eight a key of the union
	folded []int
}

// geometries: the first is the program's.
var geometries = []geometry{
	{"8 cells a key", 8, []int{0, 10, 90}},
	{"16 cells a key", 16, []int{0}},
	{"32 cells a key", 32, []int{0, 90}},
	{"one size for all", 0, []int{0, 10, 50, 90}},
}

// oneSize reports whether all sites' filters have the same lines.
func (g geometry) oneSize() bool { return g.cells == 0 }

// shape is not rounded up to whole blocks, unlike filter.SizeCounts. At full size this
// makes no difference.
func (g geometry) shape(keys, union float64) filter.CountsShape {
	if g.oneSize() {
		return filter.CountsShape{Lines: uint64(union*8/lineCells) + 1}
	}
	return filter.CountsShape{Lines: uint64(keys*g.cells/lineCells) + 1}
}

// held draws a day of counts and a week of reports of all sites, divided by scale, and
// stores them like a receiver. A draw has so many messages that another one differs only
// in the last digits.
func held(scale float64) lab.Trial {
	var cells []lab.Cell
	for _, g := range geometries {
		cells = append(cells, g.rows(scale)...)
	}
	return lab.Trial{
		Fixed: true,
		Cells: append(cells, reportRows()...),
		New: func(*rand.Rand) lab.Round {
			return func(r *rand.Rand, out []float64) {
				d := drawDay(r, scale)
				var counts memory
				for i, g := range geometries {
					c := d.count(g)
					m := memory{parts: partsOf(c.site[:]), union: d.union}
					if i == 0 {
						counts = m
					}
					out = out[c.fill(r, d, g, m, out):]
				}
				fillReports(r, scale, counts, out)
			}
		},
	}
}

// memory is that of all sites' parts, and of one filter of their union, in bytes.
type memory struct {
	parts partBytes
	union float64
}

// partBytes is the memory of parts, and the part of it that is not code: the indexes to
// find and change a block.
type partBytes struct{ all, beside float64 }

func (p *partBytes) add(part *coded.Part, code int) {
	p.all += float64(part.Bytes())
	p.beside += float64(part.Bytes()) - float64(code)
}

// day has the messages of all sites.
type day struct {
	hashes   []filter.Hash
	truth    []int
	arrivals []arrival
	keys     [sites]int // distinct messages of each site
	union    float64    // bytes of one filter with the counts of all
}

// arrival is one message at one site.
type arrival struct{ message, site int32 }

const noteSizes = "sized as in package bloomdb: reports of five weeks, with a quarter more room in each generation; 4 signatures and 128 " +
	"sketch entries for each report; an error of 1e-6 a mail and of 3 % an entry; eight cells of a counting filter for each " +
	"distinct message of a day"

// sizes are those of one filter of the union, at full size.
func sizes() lab.Trial {
	return lab.Trial{
		Fixed: true,
		Cells: []lab.Cell{
			shown("reported messages kept, millions", noteSizes),
			shown("distinct messages a day, millions", ""),
			shown("spam filters of the union, 5 generations, MB", ""),
			shown("sketch filters of the union, 5 generations, MB", ""),
			shown("counting filters of the union, 2 generations, cells only, MB", ""),
		},
		New: func(*rand.Rand) lab.Round {
			return func(_ *rand.Rand, out []float64) {
				keys := daily / meanCount()
				out[0], out[1] = capacity/mega, keys/mega
				out[2] = keptWeeks * float64(weekSpam.Bytes()) / mega
				out[3] = keptWeeks * float64(weekSketch.Bytes()) / mega
				out[4] = countKeep * keys * 8 / 2 / mega
			}
		},
	}
}

// drawDay lets all messages of a day arrive in a random order.
func drawDay(r *rand.Rand, scale float64) *day {
	n := int(daily / scale / meanCount())
	d := &day{hashes: make([]filter.Hash, n), truth: make([]int, n)}
	var cumulative [sites]float64
	sum := 0.0
	for i := range cumulative {
		sum += share(i + 1)
		cumulative[i] = sum
	}
	pick := func() int32 {
		u := r.Float64()
		i := 0
		for i < sites-1 && cumulative[i] < u {
			i++
		}
		return int32(i)
	}
	last := [sites]int{}
	for m := range n {
		d.hashes[m], d.truth[m] = papers.DrawHash(r), drawCount(r)
		home, common := pick(), r.Float64() < elsewhere
		for range d.truth[m] {
			at := home
			if common {
				at = pick()
			}
			if last[at] != m+1 {
				last[at] = m + 1
				d.keys[at]++
			}
			d.arrivals = append(d.arrivals, arrival{int32(m), at})
		}
	}
	r.Shuffle(len(d.arrivals), func(i, j int) { d.arrivals[i], d.arrivals[j] = d.arrivals[j], d.arrivals[i] })
	all := lab.Must(filter.NewCounts(geometry{}.shape(0, float64(n))))
	for _, a := range d.arrivals {
		all.Add(d.hashes[a.message], 1)
	}
	d.union = float64(all.Bytes())
	return d
}

// counted has the sites' filters of one geometry after a day.
type counted struct{ site [sites]*filter.Counts }

func (d *day) count(g geometry) *counted {
	c := &counted{}
	for i := range c.site {
		c.site[i] = lab.Must(filter.NewCounts(g.shape(float64(d.keys[i]), float64(len(d.hashes)))))
	}
	for _, a := range d.arrivals {
		c.site[a.site].Add(d.hashes[a.message], 1)
	}
	return c
}

// partsOf is the memory of filters as a receiver holds them.
func partsOf(all []*filter.Counts) (p partBytes) {
	var cells []filter.Cell
	var buf []byte
	for _, site := range all {
		size := site.Shape().Size()
		part := coded.NewPart(size, true)
		code := 0
		for i := range filter.Blocks(size, true) {
			if cells = site.Block(i, cells[:0]); len(cells) > 0 {
				lab.Check(part.Merge(cells))
				buf = coded.AppendCells(buf[:0], i*filter.BlockSize(true), cells, true)
				code += len(buf)
			}
		}
		p.add(part, code)
	}
	return p
}

const notePromise = "the promised ratio is at most 2. No code can reach it for a union that is nearly a third full, as that of the sketches is " +
	"by design: which site set which bit is more information than which bits are set"

// reportRows are the ratios of the reports' filters, and of all filters.
func reportRows() []lab.Cell {
	ratio := func(what, note string) lab.Cell { return shown(what+" / one filter of the union", note) }
	var cells []lab.Cell
	for _, kind := range []string{"spam filter, a week: ", "sketches, a week: "} {
		cells = append(cells,
			ratio(kind+"all parts", ""), ratio(kind+"all parts, beside the code", ""), ratio(kind+"entropy of all parts", ""))
	}
	return append(cells,
		ratio("all filters, all generations: all parts", notePromise),
		ratio("all filters, all generations: all parts, beside the code", ""))
}

// fillReports draws a week of reports.
func fillReports(r *rand.Rand, scale float64, counts memory, out []float64) {
	week := weekly / scale
	total := memory{partBytes{countKeep * counts.parts.all, countKeep * counts.parts.beside}, countKeep * counts.union}
	for i, f := range []struct {
		shape filter.BitsShape
		keys  float64 // of a report
	}{{spamShape(week), meanSignatures}, {sketchShape(week), sketchEntries}} {
		var p partBytes
		entropy, size := 0.0, float64(f.shape.Size())
		for rank := 1; rank <= sites; rank++ {
			cells := keysOf(r, f.shape, int(week*share(rank)*f.keys+r.Float64()))
			part := coded.NewPart(f.shape.Size(), false)
			lab.Check(part.Merge(cells))
			p.add(part, codeOfBlocks(cells))
			entropy += size * entropyBits(float64(len(cells))/size) / 8
		}
		dense := float64(f.shape.Bytes())
		out[3*i], out[3*i+1], out[3*i+2] = p.all/dense, p.beside/dense, entropy/dense
		total.parts.all += keptWeeks * p.all
		total.parts.beside += keptWeeks * p.beside
		total.union += keptWeeks * dense
	}
	out[6], out[7] = total.parts.all/total.union, total.parts.beside/total.union
}

// codeOfBlocks is the length of the code of bits, which are ascending, block by block.
func codeOfBlocks(cells []filter.Cell) (code int) {
	var buf []byte
	for len(cells) > 0 {
		block, n := cells[0].Pos/filter.BlockSize(false), 1
		for n < len(cells) && cells[n].Pos/filter.BlockSize(false) == block {
			n++
		}
		buf = coded.AppendCells(buf[:0], block*filter.BlockSize(false), cells[:n], false)
		code, cells = code+len(buf), cells[n:]
	}
	return code
}

// entropyBits is that of one bit that is set with a chance p.
func entropyBits(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}
