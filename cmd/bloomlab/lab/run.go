package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Options configure the run of an experiment.
type Options struct {
	Rounds  int    // of each trial that draws something, at least 1
	Seed    uint64 // of all random streams
	Workers int    // goroutines; 0: one for each processor

	// Progress is called with the number of finished rounds, by any worker. Nil: no
	// progress is reported.
	Progress func(rounds int)
}

// blockSize is the number of rounds that a worker runs at a time. It affects the
// result, because sums are computed block by block.
const blockSize = 4

// Work returns the number of rounds that Run will execute.
func (e Experiment) Work(rounds int) int {
	n := 0
	for _, t := range e.Trials {
		n += t.rounds(rounds)
	}
	return n
}

func (t Trial) rounds(asked int) int {
	switch {
	case t.Fixed:
		return 1
	case t.Most > 0:
		return min(asked, t.Most)
	}
	return asked
}

// block is a piece of work: rounds first to last-1 of a trial.
type block struct {
	trial       int
	first, last int
	sums        []moments // of each cell
}

// Run executes all rounds of all trials. The rows are in the order of the cells. The
// error is that of ctx, or one about wrong Options.
func Run(ctx context.Context, e Experiment, o Options) ([]Row, error) {
	if o.Rounds < 1 {
		return nil, fmt.Errorf("%s: %d rounds, at least 1 is needed", e.Name, o.Rounds)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	blocks := e.blocks(o.Rounds)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(o.Workers, len(blocks)) {
		group.Go(func() error {
			w := worker{experiment: e, seed: o.Seed, trial: -1}
			for i := int(next.Add(1)) - 1; i < len(blocks); i = int(next.Add(1)) - 1 {
				if err := w.do(ctx, &blocks[i]); err != nil {
					return err
				}
				if o.Progress != nil {
					o.Progress(blocks[i].last - blocks[i].first)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	rows := e.rows(blocks)
	if e.Derived != nil {
		for _, d := range e.Derived(rows) {
			rows = append(rows, newRow(e.Name, d.Cell, d.Summary))
		}
	}
	return rows, nil
}

func (e Experiment) blocks(rounds int) []block {
	var blocks []block
	for i, t := range e.Trials {
		n := t.rounds(rounds)
		for first := 0; first < n; first += blockSize {
			blocks = append(blocks, block{trial: i, first: first, last: min(first+blockSize, n)})
		}
	}
	return blocks
}

func (e Experiment) rows(blocks []block) []Row {
	var rows []Row
	for i, t := range e.Trials {
		sums := make([]moments, len(t.Cells))
		for _, b := range blocks {
			if b.trial == i {
				for c := range sums {
					sums[c].join(b.sums[c])
				}
			}
		}
		for c, cell := range t.Cells {
			rows = append(rows, newRow(e.Name, cell, sums[c].summary()))
		}
	}
	return rows
}

// worker keeps the round function of its latest trial.
type worker struct {
	experiment Experiment
	seed       uint64
	trial      int
	round      Round
	out        []float64
}

func (w *worker) do(ctx context.Context, b *block) error {
	t := w.experiment.Trials[b.trial]
	if w.trial != b.trial {
		w.round = t.New(stream(w.seed, w.experiment.Name, -1, 0))
		w.trial, w.out = b.trial, make([]float64, len(t.Cells))
	}
	b.sums = make([]moments, len(t.Cells))
	for r := b.first; r < b.last; r++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range w.out {
			w.out[i] = math.NaN()
		}
		w.round(stream(w.seed, w.experiment.Name, b.trial, r), w.out)
		for i, x := range w.out {
			b.sums[i].add(x)
		}
	}
	return nil
}

// stream returns the random stream of one round. Trial -1 is the common stream.
func stream(seed uint64, name string, trial, round int) *rand.Rand {
	h := fnv.New128a()
	var b [8]byte
	for _, x := range []uint64{seed, uint64(trial), uint64(round)} {
		binary.BigEndian.PutUint64(b[:], x)
		h.Write(b[:])
	}
	h.Write([]byte(name))
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(filter.Mix(binary.BigEndian.Uint64(sum)), filter.Mix(binary.BigEndian.Uint64(sum[8:]))))
}

// moments are the number of values, their mean, and the sum of squared differences.
type moments struct {
	n        int
	mean, m2 float64
}

func (m *moments) add(x float64) {
	if !math.IsNaN(x) {
		m.join(moments{n: 1, mean: x})
	}
}

// join adds other's values (Chan, Golub, LeVeque 1979).
func (m *moments) join(other moments) {
	if other.n == 0 {
		return
	}
	n := float64(m.n + other.n)
	d := other.mean - m.mean
	m.mean += d * float64(other.n) / n
	m.m2 += other.m2 + d*d*float64(m.n)*float64(other.n)/n
	m.n += other.n
}

func (m moments) summary() Summary {
	switch m.n {
	case 0:
		return Summary{Mean: math.NaN()}
	case 1:
		return Summary{Mean: m.mean, Rounds: 1}
	}
	return Summary{Mean: m.mean, SD: math.Sqrt(m.m2 / float64(m.n-1)), Rounds: m.n}
}
