// Command suite runs the tests of this repository and reports on them. It belongs to the
// Makefile and is not installed.
//
//	go run ./cmd/internal/suite test [FLAGS AND PACKAGES OF go test]
//	go run ./cmd/internal/suite flakes [--rounds N] [--only CONDITION] [--logs DIR] -- [FLAGS AND PACKAGES OF go test]
//
// test prints the output of go test for failed tests only, then how many tests were skipped
// for each missing requirement, and finally a line of totals.
//
// flakes repeats the same tests under changing conditions, and prints each test that ever
// failed, with its rate and logs.
//
// Both exit with 1 if a test failed, 2 if the arguments are wrong, and otherwise like go
// test.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "usage: suite test ARGS | suite flakes [--rounds N] [--only CONDITION] [--logs DIR] -- ARGS; ARGS are those of go test")
		os.Exit(2)
	case errors.Is(err, errFailed):
		os.Exit(1)
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		os.Exit(exit.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

var (
	errUsage  = errors.New("usage")
	errFailed = errors.New("tests failed")
)

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch verb, args := args[0], args[1:]; verb {
	case "test":
		r := newReport(out)
		err := goTest(ctx, args, r)
		r.finish()
		return err
	case "flakes":
		f := flakes{out: out}
		flags := pflag.NewFlagSet("flakes", pflag.ContinueOnError)
		flags.IntVar(&f.rounds, "rounds", len(conditions), "runs, each under the next condition")
		flags.StringArrayVar(&f.only, "only", nil, "a condition, by the name that a round prints; may be repeated")
		flags.SetOutput(io.Discard) // main prints the usage
		flags.StringVar(&f.logs, "logs", "bin/flakes", "folder for the output of failed tests")
		if err := flags.Parse(args); err != nil {
			return errUsage
		}
		f.args = flags.Args()
		return f.run(ctx)
	}
	return errUsage
}
