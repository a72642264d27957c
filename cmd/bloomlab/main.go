// Command bloomlab reproduces the numbers of the papers that spambloom stands on,
// and measures what they leave out. It owns the list of experiments, how rows are
// printed and the exit codes.
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

// run does one command and returns its exit code.
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

// outsideError is the number of rows that are not within their tolerance.
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

func rootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "bloomlab",
		Short: "reproduce the numbers of the papers on Bloom filters",
		Long: `bloomlab runs the experiments of the five papers whose filters spambloom uses,
with this program's own filters, and holds what comes out against what the
papers print. Where a paper is in error, the row says so and how to check it.
With ` + "`signatures`" + ` it measures which varied copies of a spam are caught.

Exit codes: 0 all rows within their tolerance, 1 some are not, 64 wrong usage,
74 results that cannot be written, 130 interrupted.`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(*cobra.Command, []string) error { return errors.New("no command given; try `bloomlab --help`") },
	}
	root.SetVersionTemplate(version.Text("bloomlab") + "\n")
	root.AddCommand(listCommand(stdout), runCommand(stdout, stderr), signaturesCommand(stdout, stderr))
	return root
}
