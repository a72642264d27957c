package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

const reportsHelp = `reports shows who reported and revoked what on this site, and what became of it, the
latest first, as long as it is kept ([reports] keep times period). Who does not
administrate sees their own, and of a message that others reported it, too.

STATE   counts; renewed (made again in a later period, or with more weight: that one
        counts); withdrawn (the reporter said the opposite later, or it was undone);
        refuted (others took it back)
WEIGHT  the reporter's when it was made: what it adds to the sum that must reach
        the quorum

Exit codes:
  0   the daemon has answered, also where there is no report` + usageCode + littleCode + inputCode + daemonCodes

// reportsFlags are those of reports.
type reportsFlags struct {
	message, reporter, sinceText string
	since                        time.Time // parsed by check
	limit                        int
	asJSON, attached             bool
}

func (f *reportsFlags) check(now time.Time) (err error) {
	if f.sinceText != "" {
		if f.since, err = parseSince(f.sinceText, now); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	if f.limit < 0 {
		return fmt.Errorf("--limit: %d reports", f.limit)
	}
	if err := api.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--reporter: %w", err)
	}
	return nil
}

func (c *cli) reportsCommand() *cobra.Command {
	var flags reportsFlags
	cmd := &cobra.Command{
		Use:   "reports",
		Short: "show who reported what",
		Long:  reportsHelp,
		Example: `  spambloom reports --message newsletter.eml
  spambloom reports --reporter anna@example.org --since 7d`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(time.Now()); err != nil {
				return &usageError{err}
			}
			return c.reports(cmd.Context(), flags)
		},
	}
	cmd.Flags().StringVar(&flags.message, "message", "", "only of the message in `FILE`, and of what is much like it")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, "with --message: "+attachedUsage)
	cmd.Flags().StringVar(&flags.reporter, "reporter", "", "only of this `REPORTER`")
	cmd.Flags().StringVar(&flags.sinceText, "since", "", "only since `TIME`: "+sinceHelp)
	cmd.Flags().IntVar(&flags.limit, "limit", 100, "at most `N` reports; 0: all")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object a line, for each report")
	return cmd
}

func (c *cli) reports(ctx context.Context, flags reportsFlags) error {
	ask := api.TrailRequest{Request: api.Request{Signatures: []api.Signature{}}, By: flags.reporter, Since: flags.since}
	if flags.message != "" {
		r, err := c.only(flags.message, flags.attached)
		if err != nil {
			return err
		}
		ask.Request = r
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	reports, more, err := trail(ctx, daemon, ask, flags.limit)
	if err != nil {
		return err
	}
	if more {
		defer c.tell("warning", fmt.Sprintf("older ones are not shown; --limit 0 shows all, --limit %d more", 10*flags.limit))
	}
	table := reportTable
	if flags.message != "" {
		table = oneTable
	}
	return printList(c, flags.asJSON, reports, table)
}

// only signs the one message of a file, or the one that is attached to it.
func (c *cli) only(file string, attached bool) (api.Request, error) {
	var found []input
	for in, err := range c.messages([]string{file}, attached) {
		if err != nil {
			return api.Request{}, err
		}
		if found = append(found, in); len(found) > 1 {
			return api.Request{}, &usageError{fmt.Errorf("--message: %s holds several messages", file)}
		}
	}
	if len(found) == 0 {
		return api.Request{}, &inputError{fmt.Errorf("%s: no message in it", file)}
	}
	r, err := requestOf(found[0].message)
	if err != nil {
		return r, fmt.Errorf("%s: %w", found[0].name, err)
	}
	return r, nil
}

// requestOf signs a message; bloomdb.ErrNothing where there is too little of it.
func requestOf(m signature.Message) (api.Request, error) {
	set := signature.Compute(m)
	if len(set.Signatures) == 0 {
		return api.Request{}, bloomdb.ErrNothing
	}
	return api.NewRequest(set), nil
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
			return nil, false, errors.New("the daemon's pages of reports do not end")
		}
		ask.Before = page.Next
	}
}

// reportTable is the readable form. Names may be long, so they are last.
func reportTable(reports []api.Reported) string {
	return columns(func(table io.Writer) {
		fmt.Fprintln(table, "MADE\tWHAT\tSTATE\tMESSAGE\tREPORTER")
		for _, r := range reports {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", minute(r.At), r.Action, r.State, firstID(r.IDs), cmp.Or(r.Reporter, anotherOne))
		}
	})
}

// oneTable is the readable form for one message: its id is known, and there is room for more.
func oneTable(reports []api.Reported) string {
	return columns(func(table io.Writer) {
		fmt.Fprintln(table, "MADE\tWHAT\tCLASS\tWEIGHT\tSTATE\tREPORTER")
		for _, r := range reports {
			fmt.Fprintf(table, "%s\t%s\t%s\t%.3g\t%s\t%s\n", minute(r.At), r.Action, r.Class, r.Weight, r.State, cmp.Or(r.Reporter, anotherOne))
		}
	})
}

// anotherOne stands for a reporter whose name the caller may not see.
const anotherOne = "(another)"

func firstID(ids []string) string {
	if len(ids) == 0 {
		return "-"
	}
	return ids[0]
}
