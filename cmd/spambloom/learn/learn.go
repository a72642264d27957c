// Package learn is the verb learn, by which an administrator feeds the daemon an archive of wanted
// mail. It signs the messages here; the daemon receives their features, their day and the domain of
// their sender, and no text.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

type flags struct {
	skip     int // messages
	yes      bool
	reporter string
}

// Command returns the verb learn.
func Command(c *verb.CLI) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "learn [FILE...]",
		Short: "learn from wanted mail what is no evidence of spam, on this site only",
		Long: `learn feeds the daemon an archive of wanted mail. A report of spam then does not list
the common parts of such mail: the footer of a mailing service, the template of a shop, the
words of a provider that a phish has copied.

The daemon also learns from arriving mail (commonness in [reports]), if the verifier named by
milter.authserv_id proves the sender. learn is for a new site, for a site without a verifier,
or for mail that another server received. Name the newest mail first: learned features
expire like the reports of this period, five weeks by default, and archives
have room for about 20,000 long messages a period.

Something is common if mail of three domains has it, on three days more than two weeks ago.
The domain is that of From, and the day that of the newest Received field with a time, else
of Date. Newer mail is learned as if it arrived: it counts for domains that are known for
longer, since nobody may have reported a new campaign yet.

Nobody can prove the From of old mail, so learn believes it. A forged one does little harm:
mail is spared for its sender only if the daemon's verifier proves the sender then. But spam
in the archive can make its own features common. So name mail that was read and kept, not a folder
that nobody has looked through. Mail that matches a report is not learned.

Only hashes are kept, never a text, and they are not sent to other sites. A message that is
learned twice counts once, so an interrupted run can be repeated, or resumed with --skip.

` + batch.AsksHelp + `

Exit codes:
  0   all messages are learned, or match a report
  1   the answer to the question was no` + verb.UsageCode + verb.DeclareCode + verb.InputCode + verb.DaemonCodes + `
  78  the daemon does not learn: commonness in [reports] is off
  130 interrupted by SIGINT between two messages; a hint shows how to resume
The exit code is that of the first failure. After 69 to 78 the command stops; otherwise
it continues.`,
		Example: `  spambloom learn ~/Maildir
  spambloom learn --yes /srv/mail/archive-2026.mbox`,
		RunE: func(cmd *cobra.Command, names []string) error {
			switch err := api.CheckReporter(f.reporter); {
			case err != nil:
				return verb.UsageError(fmt.Errorf("--as: %w", err))
			case f.skip < 0:
				return verb.UsageError(fmt.Errorf("--skip: %d, want 0 or more", f.skip))
			}
			return learn(cmd.Context(), c, names, f)
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, batch.YesUsage)
	cmd.Flags().IntVar(&f.skip, "skip", 0, "skip the first `N` messages, to resume after an interruption")
	cmd.Flags().StringVar(&f.reporter, "as", "", verb.AskerUsage)
	return cmd
}

// Outcomes of a message.
const (
	learned  = "learned"
	reported = "not learned (reported)"
)

// learn sends the features of all messages to the daemon.
func learn(ctx context.Context, c *verb.CLI, names []string, f flags) error {
	inputs := func() iter.Seq2[batch.Input, error] { return batch.After(f.skip, batch.Messages(c, names, false)) }
	c.Changes = true
	messages, err := batch.Confirmed(ctx, c, "learn from all of them, as wanted mail?", names, f.yes, inputs)
	if err != nil {
		return err
	}
	running, stop := batch.Interruptible(ctx, names)
	defer stop()
	run := &batch.Resumption{Taken: f.skip}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	sum := batch.NewTotal()
	defer func() { sum.Print(c) }()
	send := func(ctx context.Context, m signature.Message) (string, error) {
		return send(ctx, daemon, m, f.reporter)
	}
	err = batch.Process(ctx, c, learned, run.Remaining(running, messages), send, func(r batch.Result[string]) error {
		if sum.Add(r.Err, r.Answer); r.Err != nil {
			return nil
		}
		return c.Print(fmt.Sprintf("%s: %s\n", r.Name, r.Answer))
	})
	var kept error
	if sum.Outcomes[learned] > 0 {
		kept = daemon.KeepLearned(ctx)
	}
	return ended(c, run, f.skip, err, kept)
}

// ended returns the result of a run that began after the first skip messages, and says how to resume.
// If the daemon was killed, what it has learned in this run is lost: the next run must not skip that.
func ended(c *verb.CLI, run *batch.Resumption, skip int, err, kept error) error {
	if kept != nil {
		kept = fmt.Errorf("what was learned may not be on disk: %w", kept)
		run.Taken = skip
	}
	var stopped *batch.StoppedError
	if errors.As(err, &stopped) {
		stopped.Skip = skip
		if kept == nil {
			stopped.Skip += stopped.Before
		}
	}
	if kept != nil && (err != nil || run.Next != "") {
		c.Notify("error", kept.Error()+"; learn all of it again, which changes nothing twice")
	}
	if run.Next != "" {
		return batch.Interrupted(c, run)
	}
	return cmp.Or(err, kept)
}

// errNoFrom is the refusal of a message without a sender.
var errNoFrom = batch.NewRefusal("", errors.New("no domain in From"), "")

// send sends the features of one message, and returns the outcome.
func send(ctx context.Context, daemon *client.Client, m signature.Message, reporter string) (outcome string, err error) {
	q := api.SenderRequest{From: replay.FromOf(m), At: replay.TimeOf(m, time.Now())}
	switch q.Request, err = batch.RequestOf(m); {
	case err != nil:
		return "", err
	case q.NoHeader:
		return "", signature.ErrNoHeader
	case q.From == "":
		return "", errNoFrom
	}
	q.Reporter = reporter
	answer, err := client.Post(ctx, daemon, v1.Learn, q)
	switch {
	case err != nil:
		return "", explained(err)
	case !answer.Learned:
		return reported, nil
	}
	return learned, nil
}

// explained gives the refusal of a daemon that does not learn its exit code and hint.
func explained(err error) error {
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotImplemented {
		return &verb.Fault{Code: verb.Config, Err: err, Hint: "set commonness = true in [reports] of the daemon's configuration"}
	}
	return err
}
