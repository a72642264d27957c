package reporters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

const settleHelp = `settle decides what a message is on this site: it is spam, wanted, or never spam. So
it ends a dispute, and releases (spam) or refuses (wanted) a report that is held.

Later reports and revocations, by users here or from other sites, do not change that. Other
sites receive a report (spam) or a revocation (wanted, never), like any other. spam and
wanted last as long as reports are kept; never lasts until spambloom never --remove.
To withdraw what was settled since a time, run spambloom undo --since TIME settled:
(the colon is part of the name).

MESSAGE is a FILE, or the number of a report that spambloom reports --contested shows.

Exit codes:
  0   success` + verb.ChangeCodes

// SettleCommand returns the verb settle.
func SettleCommand(c *verb.CLI) *cobra.Command {
	var attached, asJSON bool
	cmd := &cobra.Command{
		Use:   "settle spam|wanted|never MESSAGE...",
		Short: "settle what a contested or held message is, on this site",
		Long:  settleHelp,
		Example: `  spambloom settle wanted 4711
  spambloom settle spam offer.eml`,
		ValidArgs: []string{"spam", "wanted", "never"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return verb.UsageError(errors.New("want spam, wanted or never, and then a FILE or the number of a report"))
			}
			return settle(cmd.Context(), c, args[0], args[1:], attached, asJSON)
		},
	}
	cmd.Flags().BoolVar(&attached, "attached", false, batch.AttachedUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line and message")
	return cmd
}

// settled is what settle --json prints for a message.
type settled struct {
	File verb.MessageName `json:"file"`
	api.Receipt
	Error string `json:"error,omitempty"`
}

func settle(ctx context.Context, c *verb.CLI, as string, names []string, attached, asJSON bool) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	show := func(name verb.MessageName, r api.Receipt, err error) error {
		switch {
		case asJSON:
			return c.PrintJSON(settled{name, r, verb.ErrorText(err)})
		case err != nil:
			return nil
		}
		return c.Print(fmt.Sprintf("%s: settled; now %s; id=%s\n", name, cmp.Or(r.Verdict, "unknown"), strings.Join(r.IDs, ",")))
	}
	var files []string
	for i, name := range names {
		n, err := strconv.ParseUint(name, 10, 64)
		switch {
		case err != nil:
			files = append(files, name)
			continue
		case n == 0:
			return verb.UsageError(errors.New("0 is not the number of a report; they begin at 1"))
		}
		r, err := client.Post(ctx, daemon, v1.Settle, api.SettleRequest{Request: api.Request{Signatures: []api.Signature{}}, Report: n, As: as})
		if err != nil {
			err = &verb.RequestError{Err: fmt.Errorf("report %s: %w", name, err), Unknown: "spambloom reports --contested shows the numbers of reports", IsSetting: true}
			return &batch.StoppedError{Err: err, Name: verb.MessageName(name), Count: i, Done: "settled"}
		}
		if err := show(verb.MessageName("report "+name), r, nil); err != nil {
			return err
		}
	}
	if len(files) == 0 {
		return nil
	}
	send := func(ctx context.Context, m signature.Message) (api.Receipt, error) {
		r, err := batch.RequestOf(m)
		if err != nil {
			return api.Receipt{}, err
		}
		return client.Post(ctx, daemon, v1.Settle, api.SettleRequest{Request: r, As: as})
	}
	return batch.Process(ctx, c, "settled", batch.Messages(c, files, attached), send, func(r batch.Result[api.Receipt]) error {
		return show(r.Name, r.Answer, r.Err)
	})
}

// contested prints the messages that some reported and others revoked, or of which a report is held.
func contested(ctx context.Context, c *verb.CLI, flags reportsFlags) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	ask := api.ContestedRequest{Since: flags.since}
	var list []api.ContestedMessage
	for {
		if flags.limit > 0 {
			ask.Limit = min(1000, flags.limit-len(list))
		}
		page, err := client.Post(ctx, daemon, v1.Contested, ask)
		if err != nil {
			return err
		}
		list = append(list, page.Messages...)
		if page.Next == 0 || page.Next == ask.Before || flags.limit > 0 && len(list) >= flags.limit {
			if err := verb.PrintList(c, flags.asJSON, list, contestedTable); err != nil {
				return err
			}
			if i := slices.IndexFunc(list, func(m api.ContestedMessage) bool { return m.Settled == "" }); i >= 0 && !flags.asJSON {
				c.Notify("hint", fmt.Sprintf("settle one by the number of its report, for example: spambloom settle wanted %d", list[i].Report))
			}
			return nil
		}
		ask.Before = page.Next
	}
}

// contestedTable formats contested messages as a table. Names may be long, so they come last.
func contestedTable(list []api.ContestedMessage) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "LATEST\tREPORT\tNOW\tSETTLED\tUNREPORTED\tMESSAGE\tREPORTED\tREVOKED")
		for _, m := range list {
			now := "not spam"
			switch {
			case m.Listed:
				now = "spam"
			case m.Held:
				now = "held"
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%d: %s\t%d: %s\n", format.Minute(m.At), m.Report, now, cmp.Or(m.Settled, "-"), unreported(m), firstID(m.IDs),
				m.Reports, cmp.Or(strings.Join(m.Reporters, ","), "-"), m.Revocations, cmp.Or(strings.Join(m.Revokers, ","), "-"))
		}
	})
}

// unreported describes the mail for which a report was held.
func unreported(m api.ContestedMessage) string {
	if m.LikeMails == 0 {
		return "-"
	}
	text := format.Plural(m.LikeMails, "mail")
	if m.LikeSenders > 0 {
		text += ", " + format.Plural(m.LikeSenders, "sender")
	}
	return text
}
