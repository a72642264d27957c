package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/bloomlab/draw"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// maxRounds bounds --rounds: a hundred times the rounds of the papers.
const maxRounds = 100_000

// runFlags are the flags of run.
type runFlags struct {
	rounds, workers int
	seed            uint64
	json            bool
	plot            string
}

func runCommand(stdout, stderr io.Writer) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME...",
		Short: "run experiments; `all` runs every one",
		Long: `Run experiments and print a row for each number of the paper: the printed value,
the measured mean and the deviation of a round, the tolerance, and whether the
mean is within it. Rows without a printed value are compared with a formula, or
not at all ("-").

A seed and a number of rounds determine the results on every machine, whatever
the number of workers.`,
		Example: `  bloomlab run yancho-table1
  bloomlab run all --rounds 1000`,
		ValidArgsFunction: completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			experiments, err := f.check(args)
			if err != nil {
				return err
			}
			return runAll(cmd.Context(), experiments, f, stdout, stderr)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.IntVar(&f.rounds, "rounds", 100, "rounds of each simulation, `N` from 1 to 100000; deviations need 2")
	fs.Uint64Var(&f.seed, "seed", 1, "`SEED` of all random numbers")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per line")
	fs.StringVar(&f.plot, "plot", "", "write the figures to `DIR`, as SVG and PNG")
	fs.IntVar(&f.workers, "workers", 0, "run `N` rounds at a time (default: one per processor)")
	return cmd
}

// check returns the experiments, or an error before anything is run.
func (f runFlags) check(args []string) ([]lab.Experiment, error) {
	if len(args) == 0 {
		return nil, errors.New("no experiment named; `bloomlab list` lists them, `bloomlab run all` runs them all")
	}
	if f.rounds < 1 || f.rounds > maxRounds {
		return nil, fmt.Errorf("--rounds %d: want 1 to %d", f.rounds, maxRounds)
	}
	if f.workers < 0 || f.workers > 1024 {
		return nil, fmt.Errorf("--workers %d: want 0 to 1024", f.workers)
	}
	return choose(args)
}

// runAll runs the experiments in order, and prints each when it is finished.
func runAll(ctx context.Context, experiments []lab.Experiment, f runFlags, stdout, stderr io.Writer) error {
	if f.plot != "" {
		if err := os.MkdirAll(f.plot, 0o777); err != nil {
			return outputError{err}
		}
	}
	work := 0
	for _, e := range experiments {
		work += e.Work(f.rounds)
	}
	bar := newProgress(stderr, work)
	defer bar.finish()
	var outside outsideError
	for _, e := range experiments {
		bar.describe(e.Name)
		rows, err := lab.Run(ctx, e, lab.Options{Rounds: f.rounds, Seed: f.seed, Workers: f.workers, Progress: bar.add})
		if err != nil {
			return err
		}
		bar.clear()
		if err := f.show(e, rows, stdout); err != nil {
			return outputError{err}
		}
		for _, row := range rows {
			if !row.Within {
				outside++
			}
		}
	}
	if outside > 0 {
		return outside
	}
	return nil
}

// show prints the rows and draws the figures of one experiment.
func (f runFlags) show(e lab.Experiment, rows []lab.Row, stdout io.Writer) error {
	write := printTable
	if f.json {
		write = printJSON
	}
	if err := write(stdout, e, rows); err != nil {
		return err
	}
	if f.plot == "" || e.Figures == nil {
		return nil
	}
	for _, figure := range e.Figures(rows) {
		if err := draw.Save(f.plot, figure); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(w io.Writer, _ lab.Experiment, rows []lab.Row) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	return nil
}
