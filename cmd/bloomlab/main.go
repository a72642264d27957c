// Command bloomlab reproduces the numbers of the papers on which spambloom is based,
// and measures what they omit. It owns the list of experiments, the form of the
// output and the exit codes.
//
//	NAME... -> lab.Run -> rows -> table or JSON lines on stdout
//	                           -> figures in --plot's folder
//
// Results go to stdout, everything else to stderr. The full output of a run with
// 1,000 rounds is in RESULTS.txt beside this file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
)

// Exit codes, as in sysexits.h where they are errors.
const (
	exOutside     = 1
	exUsage       = 64
	exIOErr       = 74
	exInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand(stdout, stderr)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "bloomlab: error: %v\n", err)
	return exitCode(err)
}

// outsideError is the number of rows outside their tolerance.
type outsideError int

func (n outsideError) Error() string {
	if n == 1 {
		return "1 row is not within its tolerance"
	}
	return fmt.Sprintf("%d rows are not within their tolerance", int(n))
}

// outputError is a result that could not be written.
type outputError struct{ error }

func (e outputError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var outside outsideError
	var missed missedError
	var output outputError
	switch {
	case errors.As(err, &outside), errors.As(err, &missed):
		return exOutside
	case errors.As(err, &output):
		return exIOErr
	case errors.Is(err, context.Canceled):
		return exInterrupted
	}
	return exUsage
}

// exitCodes ends the help of each command.
const exitCodes = `
Exit codes:
  0    all rows are within their tolerance
  1    some rows are not, or (with signatures --check) are below their aim
  64   wrong usage
  74   the results cannot be written
  130  interrupted
`

func rootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "bloomlab",
		Short: "reproduce the numbers of the papers on Bloom filters",
		Long: `bloomlab runs the experiments of the five papers whose filters spambloom uses,
with this program's own filters, and compares the results with the printed
numbers. If a paper is in error, the row has a note with a way to check it.
` + "`bloomlab signatures`" + ` measures which varied copies of a spam are caught.`,
		Example: `  bloomlab list
  bloomlab run yancho-table1
  bloomlab run all --rounds 1000 --plot figures`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(*cobra.Command, []string) error { return errors.New("no command given; try `bloomlab --help`") },
	}
	root.SetVersionTemplate(version.Text("bloomlab") + "\n")
	root.SetUsageTemplate(root.UsageTemplate() + exitCodes)
	root.AddCommand(listCommand(stdout), runCommand(stdout, stderr), signaturesCommand(stdout, stderr))
	return root
}
