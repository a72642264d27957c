package coded

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// BenchmarkPart uses parts of the default size, a tenth and half full: with 20 million counted
// messages, 15 % of them counted more than once, and with 2 million reported signatures.
func BenchmarkPart(b *testing.B) {
	for _, tc := range []struct {
		name string
		held float64
	}{{"tenth", 0.1}, {"half", 0.5}} {
		b.Run("counts/"+tc.name, func(b *testing.B) { benchCountsPart(b, int(tc.held*20_000_000)) })
		b.Run("bits/"+tc.name, func(b *testing.B) { benchBitsPart(b, int(tc.held*2_000_000)) })
	}
}

// times returns the number of times that a message is counted: 85 % once, the rest with a heavy tail.
func times(r *rand.Rand) uint32 {
	if r.IntN(100) < 85 {
		return 1
	}
	return uint32(min(2/(1-r.Float64()), 10_000))
}

func benchCountsPart(b *testing.B, held int) {
	shape := filter.SizeCounts(20_000_000)
	own, err := filter.NewCounts(shape)
	testenv.Check(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([]filter.Hash, 0, 1<<16)
	for range held {
		h := filtertest.Hash(r)
		own.Add(h, times(r))
		if len(keys) < cap(keys) {
			keys = append(keys, h)
		}
	}
	p := NewPart(shape.Size(), true)
	benchFill(b, p, own.Block)
	benchInstall(b, p)
	b.Run("min", func(b *testing.B) {
		defer reportCPU(b)()
		for i := range b.N {
			positions := shape.Positions(keys[i%len(keys)])
			if p.Min(positions[:]) == 0 {
				b.Fatal("a counted key has no count")
			}
		}
	})
	b.Run("merge", func(b *testing.B) {
		benchMerge(b, p, func() []filter.Cell {
			changed := make(map[uint64]uint32)
			for len(changed) < 100_000 {
				h := filtertest.Hash(r)
				count := own.Add(h, times(r))
				for _, pos := range shape.Positions(h) {
					if own.Cell(pos) == count {
						changed[pos] = count
					}
				}
			}
			return ascending(changed)
		})
	})
}

func benchBitsPart(b *testing.B, held int) {
	shape := filter.BitsShape{K: 8, Span: 1}.Fit(2_000_000, 1.25e-8)
	own, err := filter.NewBits(shape)
	testenv.Check(b, err)
	keys := hashes(1, held)
	for _, h := range keys {
		own.Set(h)
	}
	p := NewPart(shape.Size(), false)
	benchFill(b, p, own.Block)
	benchInstall(b, p)
	b.Run("min", func(b *testing.B) {
		var buf []uint64
		defer reportCPU(b)()
		for i := range b.N {
			if buf = shape.Positions(keys[i%len(keys)], buf[:0]); p.Min(buf) == 0 {
				b.Fatal("a reported key is not found")
			}
		}
	})
	b.Run("merge", func(b *testing.B) {
		seed := uint64(7)
		benchMerge(b, p, func() []filter.Cell { seed++; return freshBits(own, seed, 1000) })
	})
}

// benchFill merges all blocks, and reports the cost.
func benchFill(b *testing.B, p *Part, block func(uint64, []filter.Cell) []filter.Cell) {
	var cells []filter.Cell
	for i := range filter.Blocks(p.size, p.values) {
		cells = block(i, cells[:0])
		testenv.Check(b, p.Merge(cells))
	}
	b.Logf("%d cells in %.2f MB, %.2f bytes each", p.Cells(), float64(p.Bytes())/1e6, float64(p.Bytes())/float64(p.Cells()))
}

// benchInstall rebuilds the part from the blocks of a snapshot.
func benchInstall(b *testing.B, p *Part) {
	var codes [][]byte
	var cells []filter.Cell
	for i := range filter.Blocks(p.size, p.values) {
		cells = p.Block(i, cells[:0])
		codes = append(codes, AppendCells(nil, i<<p.shift, cells, p.values))
	}
	b.Run("install", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begun := cpuTime(b)
		for range b.N {
			fresh := NewPart(p.size, p.values)
			for i, code := range codes {
				var err error
				if cells, err = fresh.Install(uint64(i), code, cells[:0], acceptAll); err != nil {
					b.Fatal(err)
				}
			}
			if fresh.Cells() != p.Cells() {
				b.Fatalf("%d cells of %d", fresh.Cells(), p.Cells())
			}
		}
		b.ReportMetric(float64(p.Cells()*int64(b.N))/(cpuTime(b)-begun).Seconds()/1e6, "Mcells/cpu-s")
	})
}

func benchMerge(b *testing.B, p *Part, delta func() []filter.Cell) {
	cells, was, spent := 0, p.Bytes(), time.Duration(0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range b.N {
		b.StopTimer()
		d := delta()
		cells += len(d)
		b.StartTimer()
		begun := cpuTime(b)
		testenv.Check(b, p.Merge(d))
		spent += cpuTime(b) - begun
	}
	b.ReportMetric(float64(cells)/b.Elapsed().Seconds()/1e6, "Mcells/s")
	b.ReportMetric(float64(cells)/spent.Seconds()/1e6, "Mcells/cpu-s")
	b.Logf("%d deltas: %d cells in %.2f MB (%.2f before)", b.N, p.Cells(), float64(p.Bytes())/1e6, float64(was)/1e6)
	if err := p.Check(); err != nil {
		b.Error(err)
	}
}

// cpuTime returns this thread's running time according to the kernel, so that other work on
// the machine does not count.
func cpuTime(b *testing.B) time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		b.Skip(err)
	}
	ran, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	testenv.Check(b, err)
	return time.Duration(ran)
}

// reportCPU locks the thread, and reports the CPU time of an operation.
func reportCPU(b *testing.B) func() {
	runtime.LockOSThread()
	begun := cpuTime(b)
	return func() {
		b.ReportMetric(float64((cpuTime(b)-begun).Nanoseconds())/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}
