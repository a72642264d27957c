// Package lab runs experiments. It owns the definition of an experiment (Experiment,
// Trial, Cell), the rounds and their random streams, and the resulting rows. Each
// paper's experiments are in a package of their own. The command owns the form of rows
// and figures.
//
//	Experiment -> Trial -> rounds, each with a stream of its own, on all workers
//	                    -> mean and deviation of each Cell -> Row
//	Rows       -> Figures
//
// A run depends only on its seed and its number of rounds: a round's stream is made
// from seed, experiment, trial and round, and the sums are computed in the order of
// the rounds, whatever the number of workers.
package lab

import (
	"encoding/json"
	"math"
	"math/rand/v2"
)

// Experiment repeats a measurement or computation of a paper.
type Experiment struct {
	Name   string // as typed: "yancho-exp1"
	Title  string // one line
	Source string // paper and place in it: "Yan & Cho 2006, section 6, Table III"
	Trials []Trial

	// Derived computes further rows from the means of the others, and appends them.
	// An example is the ratio of two means, which is not the mean of the rounds'
	// ratios. Nil: there are none.
	Derived func(rows []Row) []Derived

	// Figures draws the rows, which are in the order of the cells; nil: there are no
	// figures.
	Figures func(rows []Row) []Figure
}

// Trial is one simulation. Each of its rounds returns one value for each of its
// cells.
type Trial struct {
	Cells []Cell

	// Fixed is true if the trial has one round only, because nothing is drawn, or
	// nothing that would change the result.
	Fixed bool

	// Most bounds the rounds of a trial whose round takes seconds and averages many
	// events; 0: no bound.
	Most int

	// New makes the round function of one worker, with its own scratch. A value must
	// not depend on earlier rounds. common is a fresh copy of the same stream for
	// every worker and trial of the experiment, for values drawn once per experiment.
	New func(common *rand.Rand) Round
}

// Round runs one round with the stream r and sets out, one value for each cell. out is
// NaN before; a value left NaN means that this round has no result for the cell.
type Round func(r *rand.Rand, out []float64)

// Cell is one number of a table or a figure.
type Cell struct {
	Name string // "m=80K k=4 refined"

	// Paper is the printed value, or None (NaN) if the paper prints none.
	Paper float64

	// Reference is the value compared with the measured mean if that is not the
	// printed value: the result of a formula, or the right value if the paper is in
	// error. It is used only if HasReference is true.
	Reference    float64
	HasReference bool

	// Tolerance returns the allowed difference between the mean and the reference,
	// given the measured summary. Nil: the cell is shown, but not compared.
	Tolerance func(s Summary) float64
	Why       string // the reason for the tolerance, in a few words

	Note string // the paper's error, and how a reader checks it
}

// Derived is a cell without rounds, and the summary computed for it.
type Derived struct {
	Cell    Cell
	Summary Summary
}

// None is the printed value of a cell that the paper does not have.
var None = math.NaN()

// Expect returns the cell with a reference other than the printed value.
func (c Cell) Expect(reference float64) Cell {
	c.Reference, c.HasReference = reference, true
	return c
}

// expected returns the value with which the mean is compared.
func (c Cell) expected() float64 {
	if c.HasReference {
		return c.Reference
	}
	return c.Paper
}

// Summary is the result of the rounds of a cell.
type Summary struct {
	Mean   float64
	SD     float64 // standard deviation of a round, not of the mean; 0 for one round
	Rounds int     // rounds with a result
}

// Row is a cell and its measured result.
type Row struct {
	Experiment string
	Cell       string
	Paper      float64 // NaN: none printed
	Reference  float64 // NaN: not compared
	Measured   float64 // mean; NaN: no round had a result
	SD         float64
	Rounds     int
	Tolerance  float64 // NaN: not compared
	Within     bool    // |Measured - Reference| <= Tolerance; true if not compared
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

// MarshalJSON writes the row as one object; missing numbers are null.
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
