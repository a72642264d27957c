package reporters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

const reportsHelp = `reports shows who reported and revoked what on this site, newest first.

Reports are kept for [reports] keep times period. Users without administrator rights
see their own reports, and that others reported a message, without their names.

STATE   counts; held (waits for a second reporter or an administrator, because it
        would hit much mail that nobody reported); renewed (made again in a later
        period or with more weight, and that one counts); withdrawn (the reporter did
        the opposite later, or it was undone); refuted (others took it back)
WEIGHT  the weight of the reporter at that time; a message is listed when the sum of
        weights reaches the quorum

Exit codes:
  0   the daemon has answered, also if there is no report` + verb.UsageCode + verb.LittleCode + verb.InputCode + verb.DaemonCodes

// reportsFlags are the flags of reports.
type reportsFlags struct {
	message, reporter, sinceText string
	since                        time.Time // parsed by check
	limit                        int
	asJSON, attached, contested  bool
}

func (f *reportsFlags) check(now time.Time) (err error) {
	if f.sinceText != "" {
		if f.since, err = parseSince(f.sinceText, now); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	if f.limit < 0 {
		return fmt.Errorf("--limit: %d, want 0 or more", f.limit)
	}
	if f.contested && (f.message != "" || f.reporter != "") {
		return errors.New("--contested takes no --message and no --reporter")
	}
	if err := api.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--reporter: %w", err)
	}
	return nil
}

// ReportsCommand returns the verb reports.
func ReportsCommand(c *verb.CLI) *cobra.Command {
	var flags reportsFlags
	cmd := &cobra.Command{
		Use:   "reports",
		Short: "show who reported what",
		Long:  reportsHelp,
		Example: `  spambloom reports --message newsletter.eml
  spambloom reports --reporter anna@example.org --since 7d
  spambloom reports --contested`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(clock(cmd.Context(), c, flags.sinceText)); err != nil {
				return verb.UsageError(err)
			}
			if flags.contested {
				return contested(cmd.Context(), c, flags)
			}
			return reports(cmd.Context(), c, flags)
		},
	}
	cmd.Flags().StringVar(&flags.message, "message", "", "only reports of the message in `FILE` and of near-duplicates")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, "with --message: "+batch.AttachedUsage)
	cmd.Flags().BoolVar(&flags.contested, "contested", false, "messages that some reported and others revoked, or whose report is held; settle one with spambloom settle")
	cmd.Flags().StringVar(&flags.reporter, "reporter", "", "only reports of this `REPORTER`")
	cmd.Flags().StringVar(&flags.sinceText, "since", "", "only reports since `TIME`: "+sinceHelp)
	cmd.Flags().IntVar(&flags.limit, "limit", 100, "at most `N` reports; 0: all")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per line and report")
	return cmd
}

func reports(ctx context.Context, c *verb.CLI, flags reportsFlags) error {
	ask := api.TrailRequest{Request: api.Request{Signatures: []api.Signature{}}, By: flags.reporter, Since: flags.since}
	if flags.message != "" {
		r, err := signOne(c, flags.message, flags.attached)
		if err != nil {
			return err
		}
		ask.Request = r
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	reports, more, err := trail(ctx, daemon, ask, flags.limit)
	if err != nil {
		return err
	}
	if more {
		defer c.Notify("warning", fmt.Sprintf("older reports are not shown; --limit %d shows more, --limit 0 shows all", 10*flags.limit))
	}
	table := reportTable
	if flags.message != "" {
		table = oneTable
	}
	return verb.PrintList(c, flags.asJSON, reports, table)
}

// signOne signs the only message in a file, or the one attached to it.
func signOne(c *verb.CLI, file string, attached bool) (api.Request, error) {
	var found []batch.Input
	for in, err := range batch.Messages(c, []string{file}, attached) {
		if err != nil {
			return api.Request{}, err
		}
		if found = append(found, in); len(found) > 1 {
			return api.Request{}, verb.UsageError(fmt.Errorf("--message: %s has several messages, want one", file))
		}
	}
	if len(found) == 0 {
		return api.Request{}, &verb.InputError{Err: fmt.Errorf("%s: no message in it", file)}
	}
	r, err := batch.RequestOf(found[0].Message)
	if err != nil {
		return r, fmt.Errorf("%s: %w", found[0].Name, err)
	}
	return r, nil
}

// trail asks for reports page by page, up to limit; 0 is no limit.
func trail(ctx context.Context, daemon *client.Client, ask api.TrailRequest, limit int) (reports []api.Reported, more bool, err error) {
	for {
		if limit > 0 {
			ask.Limit = min(1000, limit-len(reports))
		}
		page, err := client.Post(ctx, daemon, v1.Reports, ask)
		if err != nil {
			return nil, false, err
		}
		reports = append(reports, page.Reports...)
		switch {
		case page.Next == 0:
			return reports, false, nil
		case limit > 0 && len(reports) >= limit:
			return reports, true, nil
		case page.Next == ask.Before:
			return nil, false, errors.New("the daemon returned the same page of reports twice")
		}
		ask.Before = page.Next
	}
}

// reportTable formats reports as a table. Names may be long, so they come last.
func reportTable(reports []api.Reported) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "MADE\tWHAT\tSTATE\tMESSAGE\tREPORTER")
		for _, r := range reports {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", format.Minute(r.At), r.Action, r.State, firstID(r.IDs), cmp.Or(r.Reporter, format.HiddenReporter))
		}
	})
}

// oneTable formats the reports of one message: with more columns, but without its id.
func oneTable(reports []api.Reported) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "MADE\tWHAT\tCLASS\tWEIGHT\tSTATE\tREPORTER")
		for _, r := range reports {
			fmt.Fprintf(table, "%s\t%s\t%s\t%.3g\t%s\t%s\n", format.Minute(r.At), r.Action, r.Class, r.Weight, r.State, cmp.Or(r.Reporter, format.HiddenReporter))
		}
	})
}

func firstID(ids []string) string {
	if len(ids) == 0 {
		return "-"
	}
	return ids[0]
}
