package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

const flushHelp = `flush delivers the reports and revocations in this user's queue, oldest first.

report and revoke also deliver the queue before they send their own messages. Run flush
from cron or a timer, so that queued reports need not wait for the next report. It
prints nothing if the queue is empty.

Each report is sent to the daemon for which it was queued; with --control, all are sent
to the named daemon. If the daemon refuses a report for good, for example because the
message is on the never-list, flush drops it and prints a warning.

Exit codes:
  0   the queue is empty` + verb.UsageCode + verb.OutputCode + `, or the queue cannot be read
      or written
  75  some reports are still queued, or another process is delivering them`

// FlushCommand returns the verb flush.
func FlushCommand(c *verb.CLI) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "flush",
		Short: "deliver queued reports",
		Long:  flushHelp,
		Example: `  spambloom flush
  */10 * * * * spambloom flush      # crontab(5) of the reporting user`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flush(cmd.Context(), c, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: delivered, dropped, waiting")
	return cmd
}

// flushed is the outcome of delivering a queue.
type flushed struct {
	Delivered int   `json:"delivered"`
	Dropped   int   `json:"dropped"` // the daemon refused them
	Waiting   int   `json:"waiting"`
	why       error // why some are still queued
}

// unflushedFault is an error that leaves reports in the queue.
func unflushedFault(err error) error {
	return &verb.Fault{Code: verb.TempFail, Err: err, Hint: cmp.Or(verb.CredentialsHint(err), "queued reports are kept; run it again later")}
}

func flush(ctx context.Context, c *verb.CLI, asJSON bool) error {
	dir, err := verb.QueueFolder()
	if err != nil {
		return err
	}
	if c.Control != "" {
		if c.Control, err = c.AbsoluteSpec(); err != nil {
			return err
		}
	}
	q := queue.New(dir, queue.Options{})
	f, err := deliver(ctx, c, q, c.Control)
	if err == nil {
		var w queue.Waiting
		w, err = q.Waiting()
		f.Waiting = w.Count
	}
	if asJSON {
		err = errors.Join(c.PrintJSON(f), err)
	} else {
		err = errors.Join(printDelivered(c, f), err)
	}
	switch {
	case errors.Is(err, queue.ErrBusy):
		return unflushedFault(err)
	case err != nil:
		return &verb.Fault{Code: verb.IOErr, Err: err, Hint: queueHint}
	case f.Waiting > 0:
		return unflushedFault(fmt.Errorf("%s still queued: %w", format.Plural(f.Waiting, "report"), cmp.Or(f.why, errBehind)))
	}
	return nil
}

// printDelivered prints the number of queued reports that were delivered.
func printDelivered(c *verb.CLI, f flushed) error {
	if f.Delivered == 0 {
		return nil
	}
	return c.Print(fmt.Sprintf("queue: %s delivered\n", format.Plural(f.Delivered, "report")))
}

// carrier delivers a queue; it keeps one connection to each daemon.
type carrier struct {
	c       *verb.CLI
	control string // the daemon for all entries; empty: each entry names its own
	daemons map[string]*client.Client
	done    flushed
}

// deliver sends the queued reports, each to its own daemon unless control names one.
func deliver(ctx context.Context, c *verb.CLI, q *queue.Queue, control string) (flushed, error) {
	k := &carrier{c: c, control: control, daemons: map[string]*client.Client{}}
	defer func() {
		for _, daemon := range k.daemons {
			daemon.Close()
		}
	}()
	err := q.Deliver(ctx, k.send)
	return k.done, err
}

func (k *carrier) send(ctx context.Context, e queue.Entry) queue.Fate {
	control := cmp.Or(k.control, e.Control)
	daemon, err := k.dial(control)
	if err == nil {
		_, err = send(ctx, daemon, e.Verb, withReporter(e.Request, control))
	}
	var problem *api.Problem
	switch {
	case err == nil:
		k.done.Delivered++
	case isRefusal(err):
		k.done.Dropped++
		k.c.Notify("warning", fmt.Sprintf("dropped a %s queued at %s: %v; id=%s", e.Verb, format.Instant(e.At), err, entryID(e)))
	case errors.As(err, &problem) && (problem.Status == http.StatusTooManyRequests || problem.Status == http.StatusServiceUnavailable):
		// No room for a revocation is no reason to keep the reports of others. A daemon that is
		// stopping does not answer the next one.
		k.done.why = err
		return queue.Later
	default:
		k.done.why = err
		return queue.Away
	}
	return queue.Settled
}

// dial returns the connection to a daemon, and connects at the first call.
func (k *carrier) dial(control string) (*client.Client, error) {
	if daemon := k.daemons[control]; daemon != nil {
		return daemon, nil
	}
	daemon, err := k.c.DialTo(control)
	if err == nil {
		k.daemons[control] = daemon
	}
	return daemon, err
}

// entryID returns the id of a queued message: its first signature, as in receipts.
func entryID(e queue.Entry) string {
	if len(e.Request.Signatures) == 0 {
		return "-"
	}
	s := e.Request.Signatures[0]
	return strings.ToLower(s.Kind) + ":" + s.Digest[:min(16, len(s.Digest))]
}
