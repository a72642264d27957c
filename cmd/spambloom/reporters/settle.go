package reporters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
sites receive a report (spam) or a revocation (wanted, never), like any other. This lasts
as long as reports are kept. To withdraw what was settled since a time, run spambloom undo
--since TIME settled: (the colon is part of the name).

never settles the message as wanted, and also declares it, as spambloom never does, without
an end. To take it back, run spambloom never --remove first, and then settle spam or the
undo: each ends its own part only, and what is still declared cannot be listed again.

MESSAGE is a FILE, or the number of a report that spambloom reports --contested shows.

` + batch.AsksHelp + `

Exit codes:
  0   success
  1   the answer to the question was no` + verb.ChangeCodes

// SettleCommand returns the verb settle.
func SettleCommand(c *verb.CLI) *cobra.Command {
	var flags settleFlags
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
			return settle(cmd.Context(), c, args[0], args[1:], flags)
		},
	}
	cmd.Flags().BoolVar(&flags.attached, "attached", false, batch.AttachedUsage)
	cmd.Flags().BoolVar(&flags.yes, "yes", false, batch.YesUsage)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per line and message")
	return cmd
}

// settled is what settle --json prints for a message.
type settled struct {
	File verb.MessageName `json:"file"`
	api.Receipt
	Error string `json:"error,omitempty"`
}

// settleQuestions ask for confirmation of many messages.
var settleQuestions = map[string]string{
	"spam":   "settle all of them as spam here, and report them to other sites?",
	"wanted": "settle all of them as wanted here, and revoke them at other sites?",
	"never":  "settle all of them as never spam here, and revoke them at other sites?",
}

// settleFlags are the flags of settle.
type settleFlags struct{ attached, yes, asJSON bool }

func settle(ctx context.Context, c *verb.CLI, as string, names []string, flags settleFlags) error {
	reports, files, err := numbersAmong(names)
	if err != nil {
		return verb.UsageError(err)
	}
	c.Changes = true
	if err := batch.ConfirmedIDs(c, reports, flags.yes, settleQuestions[as]); err != nil {
		return err
	}
	messages := func(func(batch.Input, error) bool) {}
	if len(files) > 0 { // else standard input would be read
		messages, err = batch.Confirmed(ctx, c, settleQuestions[as], files, flags.yes, func() iter.Seq2[batch.Input, error] { return batch.Messages(c, files, flags.attached) })
	}
	if err != nil {
		return err
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	sum := batch.NewTotal()
	defer func() { sum.Print(c) }()
	show := func(r batch.Result[api.Receipt]) error {
		sum.Add(r.Err, "settled")
		return showSettled(c, r, flags.asJSON)
	}
	for i, report := range reports {
		if err := settleReport(ctx, daemon, as, report, show); err != nil {
			return &batch.StoppedError{Err: err, Name: verb.MessageName(report), Count: i, Done: "settled"}
		}
	}
	send := func(ctx context.Context, m signature.Message) (api.Receipt, error) {
		r, err := batch.RequestOf(m)
		if err != nil {
			return api.Receipt{}, err
		}
		return client.Post(ctx, daemon, v1.Settle, api.SettleRequest{Request: r, As: as})
	}
	return batch.Process(ctx, c, "settled", messages, send, show)
}

// numbersAmong separates the numbers of reports from the names of files.
func numbersAmong(names []string) (reports, files []string, err error) {
	for _, name := range names {
		switch n, err := strconv.ParseUint(name, 10, 64); {
		case err != nil:
			files = append(files, name)
		case n == 0:
			return nil, nil, errors.New("0 is not the number of a report; they begin at 1")
		default:
			reports = append(reports, name)
		}
	}
	return reports, files, nil
}

// settleReport settles the message of a report, by its number.
func settleReport(ctx context.Context, daemon *client.Client, as, report string, show func(batch.Result[api.Receipt]) error) error {
	n, err := strconv.ParseUint(report, 10, 64)
	if err != nil {
		return err
	}
	r, err := client.Post(ctx, daemon, v1.Settle, api.SettleRequest{Request: api.Request{Signatures: []api.Signature{}}, Report: n, As: as})
	if err != nil {
		return &verb.RequestError{Err: fmt.Errorf("report %s: %w", report, err), Unknown: "spambloom reports --contested shows the numbers of reports", IsSetting: true}
	}
	return show(batch.Result[api.Receipt]{Name: verb.MessageName("report " + report), Answer: r})
}

// showSettled prints the outcome for a message.
func showSettled(c *verb.CLI, r batch.Result[api.Receipt], asJSON bool) error {
	switch {
	case asJSON:
		return c.PrintJSON(settled{r.Name, r.Answer, verb.ErrorText(r.Err)})
	case r.Err != nil:
		return nil
	}
	return c.Print(fmt.Sprintf("%s: settled; now %s; id=%s\n", r.Name, cmp.Or(r.Answer.Verdict, "unknown"), strings.Join(r.Answer.IDs, ",")))
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
