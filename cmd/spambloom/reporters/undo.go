package reporters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

const undoHelp = `undo withdraws all reports and revocations that a reporter made on this site since a
given time, as if they had never been made.

Messages that lose their quorum are revoked on all sites. Revocations by others that this
reporter overruled count again, and mistakes that it has added to others' are taken back.

A message is listed again if only this reporter revoked it, and others still report it. If only
the votes of other sites had listed it, or the site that had listed it revoked it since, it
stays revoked.

undo cannot be taken back: each message would have to be reported or revoked again, by
this reporter or in its name. --dry-run counts them before, and "reports --reporter
REPORTER" lists them.

undo works in steps of 100, with a progress bar on a terminal. If it is interrupted, run
it again for the rest; reports that were withdrawn before are not counted again.

If there are more than 20, undo asks on a terminal; without a terminal, --yes is
required.

Exit codes:
  0   success, also if there was nothing to withdraw
  1   the answer to the question was no` + verb.UsageCode + `
  65  the reporter is unknown` + verb.DaemonCodes

// undoFlags are the flags of undo.
type undoFlags struct {
	sinceText      string
	since          time.Time // parsed by check
	dryRun, asJSON bool
	yes            bool
}

func (f *undoFlags) check(by string, now time.Time) (err error) {
	if err := api.CheckReporter(by); err != nil {
		return err
	}
	switch {
	case by == "":
		return errors.New("REPORTER is empty")
	case f.sinceText == "":
		return fmt.Errorf("--since is required, for example `undo --since 7d %s`", by)
	}
	if f.since, err = parseSince(f.sinceText, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	return nil
}

// UndoCommand returns the verb undo.
func UndoCommand(c *verb.CLI) *cobra.Command {
	var flags undoFlags
	cmd := &cobra.Command{
		Use:   "undo REPORTER --since TIME",
		Short: "withdraw all reports of one reporter since a time",
		Long:  undoHelp,
		Example: `  spambloom undo --dry-run --since 36h anna@example.org
  spambloom undo --since 2026-11-20 anna@example.org`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeReporters(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args[0], clock(cmd.Context(), c, flags.sinceText)); err != nil {
				return verb.UsageError(err)
			}
			return undo(cmd.Context(), c, args[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.sinceText, "since", "", "withdraw reports made since `TIME`: "+sinceHelp)
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "print what would be done, and change nothing")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, batch.YesUsage)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: reports, revocations, delisted, relisted, standing")
	return cmd
}

func undo(ctx context.Context, c *verb.CLI, by string, flags undoFlags) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	c.Changes = !flags.dryRun
	if !flags.dryRun && !flags.yes {
		if err := confirmedUndo(ctx, c, daemon, by, flags); err != nil {
			return err
		}
	}
	bar := c.StartProgress()
	done, err := withdraw(ctx, daemon, by, flags, bar.Add)
	bar.Finish()
	switch {
	case err == nil:
		return c.PrintEither(flags.asJSON, done, undoneText(by, flags.since, done, flags.dryRun))
	case !flags.dryRun && done.Reports+done.Revocations > 0:
		c.Notify("warning", "stopped; "+strings.TrimSpace(undoneText(by, flags.since, done, false)))
		return &verb.Fault{Code: verb.Code(reporterError(err)), Err: err, Hint: "run it again later for the rest"}
	case !flags.dryRun && hasFailed(err):
		return &verb.Fault{Code: verb.Code(reporterError(err)), Err: err, Hint: "a part may have been done; run it again later for the rest"}
	}
	return reporterError(err)
}

// hasFailed reports whether the daemon began a step and could not finish it.
func hasFailed(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Status >= http.StatusInternalServerError
}

// undoStep is the number of reports that one request reads. The decisions on them are on disk
// when its answer arrives.
const undoStep = 100

// withdraw withdraws in steps what a reporter did, or counts it, and calls count for each report
// or revocation. After an error it returns the sum of the steps before.
func withdraw(ctx context.Context, daemon *client.Client, by string, flags undoFlags, count func()) (sum api.Undone, err error) {
	ask := api.UndoRequest{By: by, Since: flags.since, DryRun: flags.dryRun, Limit: undoStep}
	for {
		done, err := client.Post(ctx, daemon, v1.Undo, ask)
		if err != nil {
			return sum, err
		}
		sum = sum.Then(done)
		for range done.Reports + done.Revocations {
			count()
		}
		if ask.Before = done.Next; done.Next == 0 {
			return sum, nil
		}
	}
}

// confirmedUndo asks for confirmation if many reports and revocations would be withdrawn.
func confirmedUndo(ctx context.Context, c *verb.CLI, daemon *client.Client, by string, flags undoFlags) error {
	planned := flags
	planned.dryRun = true
	plan, err := withdraw(ctx, daemon, by, planned, func() {})
	switch {
	case err != nil:
		return reporterError(err)
	case plan.Reports+plan.Revocations <= verb.Many:
		return nil
	case !verb.IsTerminal(c.In):
		return verb.UsageError(batch.ErrManyNeedYes)
	}
	for line := range strings.Lines(undoneText(by, flags.since, plan, true)) {
		c.Notify("warning", strings.TrimSpace(line))
	}
	if !c.Ask("withdraw all of them?") {
		return verb.Exit(verb.Declined)
	}
	c.Expected = plan.Reports + plan.Revocations
	return nil
}

// undoneText describes what was done, or would be done.
func undoneText(by string, since time.Time, u api.Undone, dryRun bool) string {
	except := ""
	if by == api.Settler {
		by, except = "settled by administrators", ", except those on the never-list"
	}
	if u.Reports+u.Revocations == 0 {
		return fmt.Sprintf("%s: no report or revocation since %s counts\n", by, format.Instant(since))
	}
	count, delist, relist, stand := "no longer count", "no longer listed", "listed again", "that stay in effect, because nobody else reports the message"
	if dryRun {
		count, delist, relist, stand = "would no longer count", "that would no longer be listed", "that would be listed again", "that would stay in effect, because nobody else reports the message"
	}
	text := fmt.Sprintf("%s: %s and %s since %s %s\n", by,
		format.Plural(u.Reports, "report"), format.Plural(u.Revocations, "revocation"), format.Instant(since), count)
	if u.Delisted > 0 {
		text += fmt.Sprintf("%s: messages %s, on all sites: %d\n", by, delist, u.Delisted)
	}
	if u.Relisted > 0 {
		text += fmt.Sprintf("%s: messages %s, on all sites%s: %d\n", by, relist, except, u.Relisted)
	}
	if u.Standing > 0 {
		text += fmt.Sprintf("%s: revocations %s: %d\n", by, stand, u.Standing)
	}
	return text
}
