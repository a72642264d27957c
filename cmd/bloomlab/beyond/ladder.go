package beyond

import (
	"fmt"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// The ladder of bloomdb (bloomdb/FORMAT.md, Ladder): rung r of a contested key, from 2 on, is a
// key of its own in one more Bloom filter. The filter here is smaller and errs more often than
// that of bloomdb, so that its errors can be counted.
const (
	ladderKeys   = 4096  // that the filter is planned for
	ladderError  = 1e-3  // of a full filter
	ladderAsked  = 20000 // contested keys whose next rung is looked up
	ladderRungs  = 16
	ladderSites  = 3
	ladderChecks = 2000 // contested keys at several sites
)

// ladder measures what contested messages cost, how often a rung is found that nobody wrote, and
// what remains when a site is dropped.
func ladder() lab.Experiment {
	e := lab.Experiment{
		Name:   "ladder",
		Title:  "reports and revocations of one period as rungs: bits, wrong verdicts, a site less",
		Source: "beyond the papers; extends Yan & Cho 2006, section 4",
	}
	shape := filter.SizeBits(ladderKeys, ladderError, 8)
	for _, words := range []int{2, 4, 8, 16} {
		e.Trials = append(e.Trials, ladderCost(shape, words))
	}
	e.Trials = append(e.Trials, droppedSite())
	return e
}

// rungKey returns the key of a rung.
func rungKey(key uint64, rung int) filter.Hash {
	r := rand.New(rand.NewPCG(key, uint64(rung)))
	return filter.Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
}

// ladderCost fills the filter with keys of so many reports and revocations, and looks up the
// next rung.
func ladderCost(shape filter.BitsShape, words int) lab.Trial {
	rungs := words - 2 // the first report and the first revocation are in other filters
	contested := ladderKeys / max(rungs, 1)
	written := float64(contested * rungs)
	name := fmt.Sprintf("%d words", words)
	ones := shape.Fill(written) * float64(shape.Size()) / float64(contested)
	wrong := shape.Error(written)
	return lab.Trial{
		Cells: []lab.Cell{
			lab.Cell{Name: name + ", ones a key", Paper: lab.None, Tolerance: lab.Plus(lab.StandardErrors, 0.01*ones), Why: lab.WhySigmas + ", and 1 %"}.Expect(ones),
			lab.Cell{Name: name + ", wrong verdicts of contested keys", Paper: lab.None, Tolerance: lab.Events(ladderAsked, wrong, 0), Why: "4 standard errors of the number of wrong ones"}.Expect(wrong),
		},
		New: func(*rand.Rand) lab.Round {
			return func(r *rand.Rand, out []float64) {
				b := lab.Must(filter.NewBits(shape))
				for range contested {
					key := r.Uint64()
					for rung := 2; rung < 2+rungs; rung++ {
						b.Set(rungKey(key, rung))
					}
				}
				found := 0
				for range ladderAsked {
					if b.Has(rungKey(r.Uint64(), 2+rungs)) {
						found++
					}
				}
				out[0], out[1] = float64(b.Ones())/float64(contested), float64(found)/ladderAsked
			}
		},
	}
}

// droppedSite lets sites in turn change the verdict, each knowing all words before, and drops one
// site. The top that remains must be that of the highest site left.
func droppedSite() lab.Trial {
	cell := func(name string) lab.Cell {
		return lab.Cell{Name: "a site is dropped, " + name + ": verdicts kept", Paper: lab.None, Tolerance: lab.Within(0), Why: "no rung is missing"}
	}
	own := lab.Cell{Name: "a site is dropped, own rungs only: verdicts kept", Paper: lab.None}
	return lab.Trial{
		Cells: []lab.Cell{cell("copied rungs").Expect(1), own},
		New: func(*rand.Rand) lab.Round {
			return func(r *rand.Rand, out []float64) {
				copied, alone := 0, 0
				for range ladderChecks {
					by := make([]int, 1+r.IntN(ladderRungs))
					for rung := range by {
						by[rung] = r.IntN(ladderSites)
					}
					gone, highest := r.IntN(ladderSites), 0
					var hasCopy, hasOwn [ladderRungs + 1]bool
					for rung, site := range by {
						if site == gone {
							continue
						}
						highest, hasOwn[rung] = rung, true
						for below := range rung + 1 {
							hasCopy[below] = true
						}
					}
					if topOf(hasCopy[:])%2 == highest%2 {
						copied++
					}
					if topOf(hasOwn[:])%2 == highest%2 {
						alone++
					}
				}
				out[0], out[1] = float64(copied)/ladderChecks, float64(alone)/ladderChecks
			}
		},
	}
}

// topOf returns the highest rung from 2 on below which none is missing there; else 1 or 0.
func topOf(has []bool) (top int) {
	if has[1] {
		top = 1
	}
	for r := 2; r < len(has) && has[r]; r++ {
		top = r
	}
	return top
}
