package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/client"
)

const flushHelp = `flush hands the reports and revocations to the daemon that wait in this user's
queue, the oldest first. Each waits for the daemon that it was meant for; --control
names another one for all of them. What the daemon refuses for good, such as a report
of what is on the never-list, is dropped, which is said.

report and revoke do the same before they send their own; flush is for cron or a
timer, so that nothing waits for the next report. It is silent where nothing waits.

Exit codes:
  0   nothing waits any more` + usageCode + outputCode + `, or the queue
  75  some still wait, or another process delivers them`

func (c *cli) flushCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "flush",
		Short: "deliver the reports that wait in the queue",
		Long:  flushHelp,
		Example: `  spambloom flush
  */10 * * * * spambloom flush      # crontab(5) of the user who reports`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.flush(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: delivered, dropped, waiting")
	return cmd
}

// flushed is what became of a queue.
type flushed struct {
	Delivered int   `json:"delivered"`
	Dropped   int   `json:"dropped"` // the daemon refused them
	Waiting   int   `json:"waiting"`
	why       error // why some wait
}

// unflushedError is that some still wait.
type unflushedError struct{ error }

func (e *unflushedError) Unwrap() error { return e.error }

func (c *cli) flush(ctx context.Context, asJSON bool) error {
	dir, err := queueFolder()
	if err != nil {
		return err
	}
	if c.control != "" {
		if c.control, err = c.controlSpec(); err != nil {
			return err
		}
	}
	q := queue.New(dir, queue.Options{})
	f, err := c.deliver(ctx, q, c.control)
	if err == nil {
		var w queue.Waiting
		w, err = q.Waiting()
		f.Waiting = w.Count
	}
	if asJSON {
		err = errors.Join(c.printJSON(f), err)
	} else {
		err = errors.Join(c.sayDelivered(f), err)
	}
	switch {
	case errors.Is(err, queue.ErrBusy):
		return &unflushedError{err}
	case err != nil:
		return &queueError{err}
	case f.Waiting > 0:
		return &unflushedError{fmt.Errorf("%s: %w", verb(f.Waiting, "report", "still waits", "still wait"), cmp.Or(f.why, errBehind))}
	}
	return nil
}

// sayDelivered prints how many reports that waited are delivered.
func (c *cli) sayDelivered(f flushed) error {
	if f.Delivered == 0 {
		return nil
	}
	return c.print(fmt.Sprintf("queue: %s delivered\n", several(f.Delivered, "report")))
}

// carrier is a run of Deliver: the daemons it has asked.
type carrier struct {
	c       *cli
	control string // of all entries, where not empty
	daemons map[string]*client.Client
	done    flushed
}

// deliver hands over what waits, each to its own daemon unless control names one.
func (c *cli) deliver(ctx context.Context, q *queue.Queue, control string) (flushed, error) {
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
		_, err = tell(ctx, daemon, e.Verb, named(e.Request, control))
	}
	var problem *api.Problem
	switch {
	case err == nil:
		k.done.Delivered++
	case isRefusal(err):
		k.done.Dropped++
		k.c.tell("warning", fmt.Sprintf("a %s that waited since %s is dropped: %v; id=%s", e.Verb, instant(e.At), err, entryID(e)))
	case errors.As(err, &problem) && problem.Status == http.StatusTooManyRequests:
		k.done.why = err
		return queue.Later
	default:
		k.done.why = err
		return queue.Away
	}
	return queue.Settled
}

// dial connects to a daemon, once.
func (k *carrier) dial(control string) (*client.Client, error) {
	if daemon := k.daemons[control]; daemon != nil {
		return daemon, nil
	}
	daemon, err := k.c.dialTo(control)
	if err == nil {
		k.daemons[control] = daemon
	}
	return daemon, err
}

// entryID names a queued message by its first signature, as receipts do.
func entryID(e queue.Entry) string {
	if len(e.Request.Signatures) == 0 {
		return "-"
	}
	s := e.Request.Signatures[0]
	return strings.ToLower(s.Kind) + ":" + s.Digest[:min(16, len(s.Digest))]
}
