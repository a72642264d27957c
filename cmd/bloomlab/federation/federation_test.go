package federation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Every row is within its tolerance, from two rounds on. Under the race detector the
// day is one to five thousand.
func TestRowsAreWithin(t *testing.T) {
	testenv.Servers(t)
	e := Experiments()[0]
	if testenv.Race {
		e.Trials = []lab.Trial{countTraffic(1), reportTraffic(), sizes(), held(10 * scale), lateReports()}
		e.Derived = nil
	}
	labtest.Measured(t, labtest.Run(t, e, lab.Options{Rounds: 2, Seed: 1}))
}

// A message comes 0.85 + 0.15 (2 H(10,000) - 1) times, in the equations and as drawn.
func TestMail(t *testing.T) {
	harmonic, chances, shares := 0.0, 0.0, 0.0
	for n := 1; n <= heaviest; n++ {
		harmonic += 1 / float64(n)
	}
	for _, g := range groups {
		chances += g.chance
	}
	for rank := 1; rank <= sites; rank++ {
		shares += share(rank)
	}
	want := 0.85 + 0.15*(2*harmonic-1)
	if math.Abs(meanCount()-want) > 1e-9 || math.Abs(chances-1) > 1e-12 || math.Abs(shares-1) > 1e-12 {
		t.Errorf("mean %v, want %v; chances sum to %v, shares to %v", meanCount(), want, chances, shares)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const n = 400_000
	single, tens := 0, 0
	for range n {
		switch c := drawCount(r); {
		case c == 1:
			single++
		case c >= 10:
			tens++
		}
	}
	for _, c := range []struct{ got, want float64 }{{float64(single), 0.85 * n}, {float64(tens), 0.15 * 0.2 * n}} {
		if math.Abs(c.got-c.want) > 5*math.Sqrt(c.want) {
			t.Errorf("%v of %d messages, want %v", c.got, n, c.want)
		}
	}
}

// A hundredth of the sightings shows a message that comes once with one chance in a
// hundred; what is shown comes more often than others do.
func TestSeen(t *testing.T) {
	if got := (group{1, 1}).seen(0.01); math.Abs(got-0.01) > 1e-12 {
		t.Errorf("seen once: %v", got)
	}
	if got, want := (group{3, 1}).seen(0.5), 0.875; math.Abs(got-want) > 1e-12 {
		t.Errorf("half of three: %v, want %v", got, want)
	}
	r, s := rand.New(rand.NewPCG(3, 4)), newSightings(0.01)
	sum, want := 0.0, 0.0
	const n = 200_000
	for range n {
		sum += min(s.draw(r), 100)
	}
	for _, g := range groups {
		want += min(g.count, 100) * g.chance * g.seen(0.01) / seen(0.01)
	}
	if math.Abs(sum/n-want) > 0.02*want {
		t.Errorf("mean %v, want %v", sum/n, want)
	}
}

// The equations' Rice codes are as long as those of the filters' own code.
func TestCodeLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, p := range []float64{0.001, 0.01, 0.1, 0.4} {
		const n = 20_000
		var cells []filter.Cell
		for pos := uint64(0); len(cells) < n; pos++ {
			if r.Float64() < p {
				cells = append(cells, filter.Cell{Pos: pos, Value: 1})
			}
		}
		got := 8 * float64(len(coded.AppendCells(nil, 0, cells, false))) / n
		if want := riceBits(p); math.Abs(got-want) > 0.02*want {
			t.Errorf("p=%v: %v bits a cell, want %v", p, got, want)
		}
	}
	for v, want := range map[float64]float64{1: 1, 2: 3, 3: 3, 4: 5, 9.5: 7} {
		if got := gammaBits(v); got != want {
			t.Errorf("gamma code of %v: %v bits, want %v", v, got, want)
		}
	}
}

// The snapshot of a week is as long as the filters' own code of it, block by block,
// but for the blocks' heads.
func TestHeldBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	shape := filter.BitsShape{Lines: 4096, K: 4, Span: 1}
	const keys = 50_000
	cells := keysOf(r, shape, keys)
	got := codeOfBlocks(cells) - 4*int(filter.Blocks(shape.Size(), false))
	want := heldBytes(float64(shape.Size()), keys*4, 0)
	if math.Abs(float64(got)-want) > 0.04*want {
		t.Errorf("%d bytes, want %.0f", got, want)
	}
}

// Wherever a key stands in a filter of n lines, it is among those that its line in a
// filter of m lines leaves.
func TestOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 100_000 {
		m, n := 1+r.Uint64N(1000), 1+r.Uint64N(1000)
		h := filter.Hash{r.Uint64(), 0}
		first, last := overlap(lineOf(h, m), m, n)
		if own := lineOf(h, n); own < first || own > last || last >= n {
			t.Fatalf("line %d of %d is %d to %d of %d, the key stands in %d", lineOf(h, m), m, first, last, n, own)
		}
	}
}

// lineOf is where the filter itself puts a key.
func lineOf(h filter.Hash, lines uint64) uint64 {
	return filter.CountsShape{Lines: lines}.Positions(h)[0] / lineCells
}

// Filters of one size are folded cell by cell: a count is the least of four sums. Two
// sites' cells (3,1) and (1,3) of a message that came once to each make 4.
func TestFoldIsTheLeastOfSums(t *testing.T) {
	shape := filter.CountsShape{Lines: 1}
	message := filter.Hash{0, 0}
	p := shape.Positions(message)
	site := func(values ...uint32) *filter.Counts {
		c := lab.Must(filter.NewCounts(shape))
		for j, v := range values {
			c.RaiseCell(p[j], v)
		}
		return c
	}
	f := fold{apart: []*filter.Counts{site(2, 2, 2, 5)}, folded: []*filter.Counts{site(3, 1, 3, 3), site(1, 3, 9, 9)}, lines: 1}
	if got := f.count(message); got != 2+4 {
		t.Errorf("count %d, want 2 apart and 4 folded", got)
	}
	if got := f.count(filter.Hash{0, 1 | 1<<5 | 1<<10 | 1<<15}); got != 0 {
		t.Errorf("a message that nobody saw counts %d", got)
	}
}

// A report alone waits 100 ms; a site with next to no traffic publishes a snapshot a
// day, whatever its counts' interval.
func TestSchedules(t *testing.T) {
	if got := waits(rand.New(rand.NewPCG(1, 1)), 1e-6); math.Abs(got[0]-100) > 0.01 || got[3] != 0 {
		t.Errorf("lone reports wait %v", got)
	}
	if f := followSnapshots(60); f.daily < 100 || f.daily > 110 || f.ofLargest < 1 || f.ofLargest > 3 {
		t.Errorf("%v snapshots a day, %v of the largest site", f.daily, f.ofLargest)
	}
}

func TestPoisson(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, mean := range []float64{0, 0.3, 7, 150} {
		const n = 50_000
		sum := 0
		for range n {
			sum += poisson(r, mean)
		}
		if got := float64(sum) / n; math.Abs(got-mean) > 5*math.Sqrt(mean/n) {
			t.Errorf("mean %v, want %v", got, mean)
		}
	}
}
