package exceptions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// retouchFlags are the flags of retouch.
type retouchFlags struct {
	yes, dryRun, list, asJSON, attached bool
	reporter                            string
}

const retouchHelp = `retouch hides a wrong match on this site; a few other reported messages may be missed.

If users reported the message by mistake, use revoke instead: it acts on all sites and
costs no other report. Use retouch if nobody reported the message, because a Bloom
filter errs now and then, or if only this site wants to receive it.

In every period that lists one of the message's signatures, retouch masks one bit,
whichever site set it. Other reported signatures may need the same bit, and are then
missed too. retouch prints the expected number of such losses first; --dry-run prints
nothing else. Then it asks on a terminal; without a terminal, --yes is required.

A later report by another site does not list the message again in a masked period.
A report in another period does, for example one of next week. So does a report of
this site. The masks expire with their periods ([reports] period and keep).

Exit codes:
  0   all messages are done, including those that nothing lists
  1   the answer to the question was no` + verb.ChangeCodes

// RetouchCommand returns the verb retouch.
func RetouchCommand(c *verb.CLI) *cobra.Command {
	var flags retouchFlags
	cmd := &cobra.Command{
		Use:   "retouch [FILE...]",
		Short: "hide wrong matches, on this site only",
		Long:  retouchHelp,
		Example: `  spambloom retouch --dry-run invoice.eml
  spambloom retouch --yes < invoice.eml
  spambloom retouch --list`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if flags.yes && flags.dryRun || flags.list && (flags.yes || flags.dryRun) {
				return verb.UsageError(errors.New("--yes, --dry-run and --list: only one of them"))
			}
			if flags.list {
				return listRetouched(cmd.Context(), c, names, flags)
			}
			return retouch(cmd.Context(), c, names, flags)
		},
	}
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "print the actions and their cost, and change nothing")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list the retouched signatures")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, batch.AttachedUsage)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().StringVar(&flags.reporter, "as", "", verb.AskerUsage)
	return cmd
}

// retouchable is a listed message and the plan to retouch it.
type retouchable struct {
	name    verb.MessageName
	request api.Request
	plan    api.Retouching
}

// retouched is what `retouch --json` prints for a message.
type retouched struct {
	File verb.MessageName `json:"file"`
	Done bool             `json:"done"`
	*api.Retouching
	Error string `json:"error,omitempty"`
}

var errNeedsYes = errors.New("not a terminal: add --yes to confirm, or --dry-run")

// retouch plans all messages, shows the cost, asks for confirmation, and retouches them.
func retouch(ctx context.Context, c *verb.CLI, names []string, flags retouchFlags) error {
	if err := api.CheckReporter(flags.reporter); err != nil {
		return verb.UsageError(fmt.Errorf("--as: %w", err))
	}
	if !flags.yes && !flags.dryRun && !verb.IsTerminal(c.In) {
		return verb.UsageError(errNeedsYes)
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	planned, failed := planRetouch(ctx, c, daemon, names, flags)
	if failed != nil && !isPrinted(failed) || len(planned) == 0 || flags.dryRun {
		return failed
	}
	if !flags.yes && !c.Ask("retouch?") {
		return verb.Exit(verb.Declined)
	}
	for i, m := range planned {
		done, err := client.Post(ctx, daemon, v1.Retouch, m.request)
		if err != nil {
			return &batch.StoppedError{Err: fmt.Errorf("%s: %w", m.name, err), Name: m.name, Count: i, Done: "retouched"}
		}
		if err := showRetouching(c, m.name, done, true, flags.asJSON); err != nil {
			return err
		}
	}
	return failed
}

func isPrinted(err error) bool {
	var printed *verb.PrintedError
	return errors.As(err, &printed)
}

// planRetouch fetches and shows the cost of each message, then the sum. It returns the
// listed messages.
func planRetouch(ctx context.Context, c *verb.CLI, daemon *client.Client, names []string, flags retouchFlags) ([]retouchable, error) {
	plan := func(ctx context.Context, m signature.Message) (p retouchable, err error) {
		if p.request, err = batch.RequestOf(m); err != nil {
			return p, err
		}
		p.request.Reporter = flags.reporter
		p.plan, err = client.Post(ctx, daemon, v1.PlanRetouch, p.request)
		return p, err
	}
	var planned []retouchable
	var sum cost
	err := batch.Process(ctx, c, "planned", batch.Messages(c, names, flags.attached), plan, func(r batch.Result[retouchable]) error {
		if r.Err != nil {
			if flags.asJSON {
				return c.PrintJSON(retouched{File: r.Name, Error: verb.ErrorText(r.Err)})
			}
			return nil
		}
		m := r.Answer
		m.name = r.Name
		if len(m.plan.Listings) > 0 {
			planned = append(planned, m)
			sum.add(m.plan.Listings)
		} else if flags.asJSON && !flags.dryRun {
			return showRetouching(c, m.name, m.plan, true, true)
		}
		if flags.asJSON && !flags.dryRun {
			return nil // printed when it is done
		}
		return showRetouching(c, m.name, m.plan, false, flags.asJSON)
	})
	if len(planned) > 0 {
		c.Notify("warning", sum.String())
	}
	return planned, err
}

// cost is the loss of all messages together. Copies of a message, and messages with
// the same attachment, share listings; each listing counts once.
type cost struct {
	listings           map[listingName]bool
	loss, lossOfOthers float64
}

type listingName struct {
	id         string
	generation int64
}

func (c *cost) add(listings []api.RetouchedListing) {
	if c.listings == nil {
		c.listings = make(map[listingName]bool)
	}
	for _, l := range listings {
		name := listingName{l.ID, l.Generation}
		if c.listings[name] {
			continue
		}
		c.listings[name] = true
		c.loss += l.Loss
		c.lossOfOthers += l.LossOfOthers
	}
}

// String describes the expected loss.
func (c *cost) String() string {
	return fmt.Sprintf("%d listings to mask; expected loss: %.1f reported signatures, or %.1f if these messages were reported themselves",
		len(c.listings), c.loss, c.lossOfOthers)
}

// showRetouching prints the plan for a message, or that it is done.
func showRetouching(c *verb.CLI, name verb.MessageName, r api.Retouching, done, asJSON bool) error {
	if asJSON {
		return c.PrintJSON(retouched{File: name, Done: done, Retouching: &r})
	}
	if len(r.Listings) == 0 && !done { // a copy of a retouched message has no listings left
		return c.Print(name.String() + ": nothing to retouch: not listed\n")
	}
	if done {
		return c.Print(fmt.Sprintf("%s: retouched; now %s\n", name, r.Verdict))
	}
	return c.Print(fmt.Sprintf("%s: %s\n", name, r.Verdict) + format.Columns(func(table io.Writer) {
		for _, l := range r.Listings {
			fmt.Fprintf(table, "  %s\tperiod %d, from %s\texpected loss %.2f\n", l.ID, l.Generation, format.Instant(l.Start), l.Loss)
		}
	}))
}

// listRetouched prints the retouched signatures.
func listRetouched(ctx context.Context, c *verb.CLI, names []string, flags retouchFlags) error {
	if len(names) > 0 {
		return verb.UsageError(errors.New("--list takes no FILE"))
	}
	list, err := verb.Asked(ctx, c, v1.Retouched)
	if err != nil {
		return err
	}
	if more := list.Total - len(list.Signatures); more > 0 {
		defer c.Notify("warning", fmt.Sprintf("%d more are not shown", more))
	}
	return verb.PrintList(c, flags.asJSON, list.Signatures, retouchedTable)
}

// retouchedTable formats retouched signatures as a table.
func retouchedTable(signatures []api.RetouchedKey) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "SIGNATURE\tPERIOD\tFROM\tRETOUCHED")
		for _, k := range signatures {
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", k.ID, k.Generation, format.Instant(k.Start), format.Instant(k.At))
		}
	})
}
