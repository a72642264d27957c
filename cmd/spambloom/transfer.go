package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting"
)

const exportHelp = `export writes the state of the daemon's site to standard output, and import takes
it from standard input into another daemon's: all reports that are kept, with who
made them and what each reporter is worth, and this site's own filters, never-list
and retouches. Keys and what is held of other sites are not in it: those give it
again. Only root and the daemon's user may do this.`

func (c *cli) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "write the state of the site, for import on another machine",
		Long: exportHelp + `

Mail and reports go on meanwhile. The stream is binary; it names reporters and the
signatures of messages: keep it as you keep the state folder.

Exit codes:
  0   all of it is written` + usageCode + daemonCodes,
		Example: `  spambloom export > state.export
  spambloom export | ssh root@mx2 spambloom import`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.exportState(cmd.Context()) },
	}
}

func (c *cli) importCommand() *cobra.Command {
	var reportsOnly bool
	cmd := &cobra.Command{
		Use:   "import",
		Short: "take over the state that export wrote on another machine",
		Long: exportHelp + `

What is known here stays: both are joined, and to import twice changes nothing. The
daemon takes the whole stream before any of it counts; one that is cut off or
damaged is refused. Other sites hear of what came in.

The filters need the same federation key, and sizes and periods, on both sides.
--reports-only leaves them out: reports and reporters are taken, and what they
list is made anew from those of the current period. Under another key, varied
copies of what was reported are not recognised by that, only the same text.

Exit codes:
  0   it is taken, and on the daemon's disk` + usageCode + `
  65  no whole export, or one of another federation or with other sizes
  66  standard input cannot be read` + daemonCodes,
		Example: `  spambloom import < state.export
  spambloom import --reports-only < state.export`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.importState(cmd.Context(), reportsOnly) },
	}
	cmd.Flags().BoolVar(&reportsOnly, "reports-only", false, "leave the filters out: for another federation")
	return cmd
}

// transferError is an export that the daemon cannot take.
type transferError struct {
	error
	hint string
}

func (e *transferError) Unwrap() error { return e.error }

func (c *cli) exportState(ctx context.Context) error {
	if isTerminal(c.stdout) {
		return &usageError{errors.New("an export is binary: write it to a file, or pipe it to spambloom import")}
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	bar := newByteProgress(c, "exported")
	out := bufio.NewWriterSize(&resultWriter{c.stdout}, 64<<10)
	head, err := daemon.Export(ctx, io.MultiWriter(out, bar))
	bar.finish()
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return err
	}
	if isTerminal(c.stderr) {
		fmt.Fprintf(c.stderr, "exported %s of site %s\n", size(bar.done), head.Site)
	}
	return nil
}

// resultWriter marks failures to write the result.
type resultWriter struct{ w io.Writer }

func (r *resultWriter) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

// sourceReader marks failures to read standard input.
type sourceReader struct{ r io.Reader }

func (s *sourceReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &inputError{fmt.Errorf("standard input: %w", err)}
	}
	return n, err
}

func (c *cli) importState(ctx context.Context, reportsOnly bool) error {
	if isTerminal(c.stdin) {
		return &usageError{errors.New("an export is binary: give it on standard input, from a file or from spambloom export")}
	}
	in := bufio.NewReaderSize(&sourceReader{c.stdin}, 64<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return &transferError{errors.New("standard input is empty"), "did spambloom export fail, before the pipe?"}
	} else if err != nil {
		return err
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	bar := newByteProgress(c, "sent")
	t, err := daemon.Import(ctx, io.TeeReader(in, bar), reportsOnly)
	bar.finish()
	if err != nil {
		return importError(err)
	}
	return c.print(transferredText(t))
}

// importError tells refusals of an export from those of a message.
func importError(err error) error {
	var problem *reporting.Problem
	if !errors.As(err, &problem) {
		return err
	}
	switch problem.Status {
	case http.StatusUnprocessableEntity:
		return &transferError{err, "make it again with spambloom export; was it cut off on its way?"}
	case http.StatusConflict:
		return &transferError{err, "--reports-only leaves the filters out, and makes them anew from the reports"}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return &transferError{err, ""}
	}
	return err
}

// transferredText says what came of an import.
func transferredText(t reporting.Transferred) string {
	text := fmt.Sprintf("imported the state of %s as of %s\n", t.From.Site, instant(t.From.Made))
	text += fmt.Sprintf("reports: %d new, %d known, %d too old; reporters: %d new\n", t.Reports, t.Known, t.Old, t.Reporters)
	if t.Decisions > 0 {
		text += fmt.Sprintf("messages listed or revoked by it: %d\n", t.Decisions)
	}
	f := t.Filters
	if f == nil {
		return text + "filters: left out\n"
	}
	text += fmt.Sprintf("filters: %d joined, %d too old; never-list: %d new; retouched: %d new\n", f.Joined, f.Aged, f.Never, f.Retouched)
	if f.CountsLeftOut {
		text += "counts: left out, as other sites have counted this mail already\n"
	}
	return text
}

// byteProgress shows on a terminal how much of a stream has passed.
type byteProgress struct {
	done int64
	bar  *progressbar.ProgressBar // nil: nobody looks
}

func newByteProgress(c *cli, what string) *byteProgress {
	p := &byteProgress{}
	if isTerminal(c.stderr) {
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(c.stderr),
			progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetSpinnerChangeInterval(0),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// Write counts what has passed.
func (p *byteProgress) Write(b []byte) (int, error) {
	p.done += int64(len(b))
	if p.bar != nil {
		_ = p.bar.Add(len(b)) // a bar that cannot be drawn is no fault of the work
	}
	return len(b), nil
}

func (p *byteProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
