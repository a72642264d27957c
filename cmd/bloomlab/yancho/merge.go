package yancho

import (
	"fmt"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

const noteMerge = "the paper adds the differences of refined cells. Each site raises only the smallest of a key's cells, by its own count; the sums of several sites can exceed the next " +
	"cell, which none of them raised: in the smallest case by 2"

// mergeCases are federations with 8 cells a key that exchange ten times, and what
// an independent simulation of 20,000 keys found in five rounds: shares of keys
// that the printed merge counts too low, too high, and misses at t=20.
var mergeCases = []struct {
	sites, k            int
	under, over, missed float64
}{
	{2, 4, 0.0079, 0.0062, 1.7e-4},
	{4, 4, 0.0133, 0.0061, 4.7e-4},
	{8, 4, 0.0165, 0.0061, 7.5e-4},
	{4, 8, 0.0358, 0.0036, 1.5e-3},
}

// merge shows that the printed merge of refined filters counts too low, which a counting
// Bloom filter must never do.
func merge() lab.Experiment {
	e := lab.Experiment{
		Name:   "yancho-merge",
		Title:  "the printed merge of refined filters counts too low",
		Source: paper + "section IV, \"signature database merging\"",
		Trials: []lab.Trial{smallestMerge()},
	}
	const keys = 500
	for _, c := range mergeCases {
		name := fmt.Sprintf("%d sites k=%d ", c.sites, c.k)
		near := func(what string, reference float64) lab.Cell {
			return lab.Cell{
				Name: name + what, Paper: lab.None, Note: noteMerge,
				Tolerance: lab.Plus(lab.Events(keys/3, reference, 0), 0.2*reference),
				Why:       "4 standard errors for keys that err in groups of three, and 20 % for the reference's own rounds",
			}.Expect(reference)
		}
		never := lab.Cell{Name: name + "intuitive, under", Paper: lab.None, Tolerance: lab.Within(0), Why: "never, in any round"}.Expect(0)
		e.Trials = append(e.Trials, lab.Trial{
			Cells: []lab.Cell{near("refined, under", c.under), near("refined, over", c.over), near("refined, 20 or more missed", c.missed), never},
			New: func(*rand.Rand) lab.Round {
				f := NewFederation(c.sites, 10, keys, 8, c.k)
				return func(r *rand.Rand, out []float64) {
					all := f.Round(r)
					printed := all[Printed]
					out[0], out[1], out[2], out[3] = printed.Under, printed.Over, printed.Missed, all[Intuitive].Under
				}
			},
		})
	}
	return e
}

// smallestMerge has two sites that go on from the merged cells (5,7,9) of x, and
// see it twice each.
func smallestMerge() lab.Trial {
	cell := func(name string, right float64) lab.Cell {
		return lab.Cell{Name: "cells (5,7,9), x twice at each of 2 sites: " + name, Paper: lab.None, Tolerance: lab.Within(0), Why: "exact", Note: noteMerge}.Expect(right)
	}
	return lab.Trial{
		Fixed: true,
		Cells: []lab.Cell{cell("merged count", 7), cell("insertions", 9)},
		New: func(*rand.Rand) lab.Round {
			return func(_ *rand.Rand, out []float64) {
				base, merged, delta := server(papers.Refined, 5, 7, 9), server(papers.Refined, 5, 7, 9), server(papers.Refined)
				inserted := base.Count(exampleKey)
				for range 2 {
					site := server(papers.Refined, 5, 7, 9)
					site.Add(exampleKey, 2)
					inserted += 2
					lab.Check(site.Delta(base, delta))
					lab.Check(merged.Sum(delta))
				}
				out[0], out[1] = float64(merged.Count(exampleKey)), float64(inserted)
			}
		},
	}
}
