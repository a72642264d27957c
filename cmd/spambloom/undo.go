package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

const undoHelp = `undo takes back all that a reporter reported and revoked on this site since a time:
it counts no longer, as if it had not been said. What loses its quorum by that is
revoked, on all sites. Nobody's reputation changes by it.

A revocation that is taken back stands until its period ends, since filters forget
nothing: what it took back is spam again when it is reported after that.

Exit codes:
  0   it is done, or nothing was to be done` + usageCode + `
  65  there is no such reporter` + daemonCodes

// undoFlags are those of undo.
type undoFlags struct {
	sinceText      string
	since          time.Time // parsed by check
	dryRun, asJSON bool
}

func (f *undoFlags) check(by string, now time.Time) (err error) {
	if err := api.CheckReporter(by); err != nil {
		return err
	}
	switch {
	case by == "":
		return errors.New("an empty REPORTER")
	case f.sinceText == "":
		return errors.New("undo wants --since: from when on is all to be taken back")
	}
	if f.since, err = parseSince(f.sinceText, now); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	return nil
}

func (c *cli) undoCommand() *cobra.Command {
	var flags undoFlags
	cmd := &cobra.Command{
		Use:   "undo REPORTER --since TIME",
		Short: "take back all of one reporter's reports",
		Long:  undoHelp,
		Example: `  spambloom undo --dry-run --since 36h anna@example.org
  spambloom undo --since 2026-11-20 anna@example.org`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeReporters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(args[0], time.Now()); err != nil {
				return &usageError{err}
			}
			return c.undo(cmd.Context(), args[0], flags)
		},
	}
	cmd.Flags().StringVar(&flags.sinceText, "since", "", "from `TIME` on: "+sinceHelp)
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "say what would be done")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object: reports, revocations, delisted, standing")
	return cmd
}

func (c *cli) undo(ctx context.Context, by string, flags undoFlags) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	done, err := client.Post(ctx, daemon, v1.Undo, api.UndoRequest{By: by, Since: flags.since, DryRun: flags.dryRun})
	if err != nil {
		return &reporterError{err}
	}
	return c.printEither(flags.asJSON, done, undoneText(by, flags.since, done, flags.dryRun))
}

// undoneText says what was done, or would be.
func undoneText(by string, since time.Time, u api.Undone, dryRun bool) string {
	if u.Reports+u.Revocations == 0 {
		return fmt.Sprintf("%s: nothing since %s that counts\n", by, instant(since))
	}
	count, delist, stand := "no longer count", "are no longer listed", "still stand until their period ends"
	if dryRun {
		count, delist, stand = "would no longer count", "would no longer be listed", "would still stand until their period ends"
	}
	text := fmt.Sprintf("%s: %s and %s since %s %s\n", by,
		several(u.Reports, "report"), several(u.Revocations, "revocation"), instant(since), count)
	if u.Delisted > 0 {
		text += fmt.Sprintf("%s: messages that %s, on all sites: %d\n", by, delist, u.Delisted)
	}
	if u.Standing > 0 {
		text += fmt.Sprintf("%s: revocations that %s: %d; what they took back can be reported again then\n", by, stand, u.Standing)
	}
	return text
}
