// Package lab runs experiments. It owns what an experiment is (Experiment, Trial,
// Cell), the rounds and their random streams, and the rows that come out. What
// the experiments are about stands in a package for each paper; how rows and
// figures look is the command's.
//
//	Experiment -> Trial -> rounds, each with a stream of its own, on all workers
//	                    -> mean and deviation of each Cell -> Row
//	Rows       -> Figures
//
// A run depends on its seed and its number of rounds only: a round's stream is
// made from seed, experiment, trial and round, and the sums are taken in the
// order of the rounds, however many workers there are.
package lab

import (
	"encoding/json"
	"math"
	"math/rand/v2"
)

// Experiment is something a paper measured or computed, done again.
type Experiment struct {
	Name   string // as typed: "yancho-exp1"
	Title  string // one line
	Source string // paper, and where in it: "Yan & Cho 2006, section 6, Table III"
	Trials []Trial

	// Derived computes further rows, which stand behind the others, from the means
	// of these: the ratio of two, say, since the mean of the rounds' ratios is
	// something else. Nil: there are none.
	Derived func(rows []Row) []Derived

	// Figures draws the rows, which come in the order of the cells; nil: there is
	// nothing to draw.
	Figures func(rows []Row) []Figure
}

// Trial is one simulation. Each of its rounds gives one value for each of its
// cells.
type Trial struct {
	Cells []Cell

	// Fixed says that one round is enough, and is all there is: nothing is drawn, or
	// nothing that would come out differently the next time.
	Fixed bool

	// Most bounds the rounds, where one takes seconds and has the mean of many events;
	// 0: as many as are asked for.
	Most int

	// New makes the round function of one worker, with scratch of its own; a
	// value must not depend on earlier rounds. common is a fresh copy of the same
	// stream for every worker and trial of the experiment: for what the experiment
	// draws once.
	New func(common *rand.Rand) Round
}

// Round does one round with the stream r and sets out, one value for each cell.
// NaN, which is there before, says that this round tells nothing about a cell.
type Round func(r *rand.Rand, out []float64)

// Cell is one number of a table or a figure.
type Cell struct {
	Name string // "m=80K k=4 refined"

	// Paper is the printed value. None (NaN) where the paper prints none.
	Paper float64

	// Reference is what the measured mean is held against, where that is not the
	// printed value: a formula, or the right value where the paper is in error.
	// A zero is meant only together with HasReference.
	Reference    float64
	HasReference bool

	// Tolerance is the half-width around the reference in which the mean is
	// expected, given what was measured. Nil: the cell is shown, and held against
	// nothing.
	Tolerance func(s Summary) float64
	Why       string // why this tolerance, in a few words

	Note string // the paper's error, and how a reader checks it
}

// Derived is a cell that no round gives, with the summary that was computed for
// it.
type Derived struct {
	Cell    Cell
	Summary Summary
}

// None is the printed value of a cell that the paper does not have.
var None = math.NaN()

// Expect returns the cell held against another value than the printed one.
func (c Cell) Expect(reference float64) Cell {
	c.Reference, c.HasReference = reference, true
	return c
}

// expected is what the mean is held against.
func (c Cell) expected() float64 {
	if c.HasReference {
		return c.Reference
	}
	return c.Paper
}

// Summary is what the rounds of a cell came to.
type Summary struct {
	Mean   float64
	SD     float64 // standard deviation of a round, not of the mean; 0 for one round
	Rounds int     // rounds that told something
}

// Row is a cell with what was measured.
type Row struct {
	Experiment string
	Cell       string
	Paper      float64 // NaN: none printed
	Reference  float64 // NaN: held against nothing
	Measured   float64 // mean; NaN: no round told anything
	SD         float64
	Rounds     int
	Tolerance  float64 // NaN: held against nothing
	Within     bool    // |Measured - Reference| <= Tolerance; true where held against nothing
	Why        string
	Note       string
}

func newRow(experiment string, c Cell, s Summary) Row {
	row := Row{
		Experiment: experiment, Cell: c.Name, Paper: c.Paper, Reference: c.expected(),
		Measured: s.Mean, SD: s.SD, Rounds: s.Rounds,
		Tolerance: math.NaN(), Within: true, Why: c.Why, Note: c.Note,
	}
	if c.Tolerance == nil {
		row.Reference = math.NaN()
		return row
	}
	row.Tolerance = c.Tolerance(s)
	row.Within = math.Abs(row.Measured-row.Reference) <= row.Tolerance
	return row
}

// number is a float64 whose NaN is null in JSON.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// MarshalJSON writes the row as one object; numbers that are not there are null.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Experiment string `json:"experiment"`
		Cell       string `json:"cell"`
		Paper      number `json:"paper"`
		Reference  number `json:"reference"`
		Measured   number `json:"measured"`
		SD         number `json:"sd"`
		Rounds     int    `json:"rounds"`
		Tolerance  number `json:"tolerance"`
		Why        string `json:"why"`
		Within     bool   `json:"within"`
		Note       string `json:"note"`
	}{r.Experiment, r.Cell, number(r.Paper), number(r.Reference), number(r.Measured), number(r.SD),
		r.Rounds, number(r.Tolerance), r.Why, r.Within, r.Note})
}
