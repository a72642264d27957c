package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// retouchFlags are those of retouch.
type retouchFlags struct {
	yes, dryRun, list, asJSON, attached bool
	reporter                            string
}

const retouchHelp = `retouch takes messages that are wrongly called spam out of the listings of this
site. In every generation that lists one of a message's signatures, one of its
bits is masked, whichever site it came from.

It is local: no other site is told. Where a message was reported by mistake, use
revoke, which tells all sites and costs no other report. Use retouch where nobody
reported the message (a Bloom filter errs now and then), or where this site alone
wants it through: a later report of it by another site does not bring it back in a
generation that listed it before. A report in another one does, such as one of next
week, or of this week where only older ones listed it. So does a report of this
site.

A masked bit is one that other reported signatures may need: these are no longer
found either. How many that are in expectation is printed before it is done.
--dry-run prints only that; without it, retouch asks on a terminal, and wants --yes
where there is none. The masks go with their generations ([reports] period and
keep).

Exit codes:
  0   all messages are done, which includes those that nothing lists
  1   the answer to the question was no` + changeCodes

func (c *cli) retouchCommand() *cobra.Command {
	var flags retouchFlags
	cmd := &cobra.Command{
		Use:   "retouch [FILE...]",
		Short: "clear messages that are wrongly listed, on this site only",
		Long:  retouchHelp,
		Example: `  spambloom retouch --dry-run invoice.eml
  spambloom retouch --yes < invoice.eml
  spambloom retouch --list`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if flags.yes && flags.dryRun || flags.list && (flags.yes || flags.dryRun) {
				return &usageError{errors.New("--yes, --dry-run and --list: only one of them")}
			}
			if flags.list {
				return c.listRetouched(cmd.Context(), names, flags)
			}
			return c.retouch(cmd.Context(), names, flags)
		},
	}
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "do it without asking")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "print what it would do and cost, and do nothing")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list what is retouched")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, attachedUsage)
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object a line")
	cmd.Flags().StringVar(&flags.reporter, "as", "", askerUsage)
	return cmd
}

// retouchable is a message that something lists, on its way.
type retouchable struct {
	name    string
	request api.Request
	plan    api.Retouching
}

// retouched is what `retouch --json` prints for a message.
type retouched struct {
	File string `json:"file"`
	Done bool   `json:"done"`
	*api.Retouching
	Error string `json:"error,omitempty"`
}

var (
	errNeedsYes = errors.New("nobody is there to be asked: retouch wants --yes, or --dry-run")
	errDeclined = verdictExit(1)
)

// retouch plans all messages, shows the cost, asks, and does them.
func (c *cli) retouch(ctx context.Context, names []string, flags retouchFlags) error {
	if err := api.CheckReporter(flags.reporter); err != nil {
		return &usageError{fmt.Errorf("--as: %w", err)}
	}
	if !flags.yes && !flags.dryRun && !isTerminal(c.stdin) {
		return &usageError{errNeedsYes}
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	planned, failed := c.planRetouch(ctx, daemon, names, flags)
	if failed != nil && !told(failed) || len(planned) == 0 || flags.dryRun {
		return failed
	}
	if !flags.yes && !c.confirm("retouch?") {
		return errDeclined
	}
	for i, m := range planned {
		done, err := client.Post(ctx, daemon, v1.Retouch, m.request)
		if err != nil {
			return &stoppedError{error: fmt.Errorf("%s: %w", m.name, err), name: m.name, count: i, done: "retouched"}
		}
		if err := c.showRetouching(m.name, done, true, flags.asJSON); err != nil {
			return err
		}
	}
	return failed
}

func told(err error) bool {
	var t *toldError
	return errors.As(err, &t)
}

// planRetouch asks for the cost of each message and shows it, and at last the sum.
// It returns those that something lists.
func (c *cli) planRetouch(ctx context.Context, daemon *client.Client, names []string, flags retouchFlags) ([]retouchable, error) {
	plan := func(ctx context.Context, m signature.Message) (p retouchable, err error) {
		if p.request, err = requestOf(m); err != nil {
			return p, err
		}
		p.request.Reporter = flags.reporter
		p.plan, err = client.Post(ctx, daemon, v1.PlanRetouch, p.request)
		return p, err
	}
	var planned []retouchable
	var sum cost
	err := process(ctx, c, "planned", c.messages(names, flags.attached), plan, func(r result[retouchable]) error {
		if r.err != nil {
			if flags.asJSON {
				return c.printJSON(retouched{File: r.name, Error: errorText(r.err)})
			}
			return nil
		}
		m := r.answer
		m.name = r.name
		if len(m.plan.Listings) > 0 {
			planned = append(planned, m)
			sum.add(m.plan.Listings)
		} else if flags.asJSON && !flags.dryRun {
			return c.showRetouching(m.name, m.plan, true, true)
		}
		if flags.asJSON && !flags.dryRun {
			return nil // printed when it is done
		}
		return c.showRetouching(m.name, m.plan, false, flags.asJSON)
	})
	if len(planned) > 0 {
		c.tell("warning", sum.String())
	}
	return planned, err
}

// cost is what all messages lose together. Copies of a message, and messages with
// the same attachment, share listings: each is counted once.
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

// String says what is lost, before it is.
func (c *cost) String() string {
	return fmt.Sprintf("%d listings to be masked; expected loss: %.1f reported signatures, or %.1f of others where the messages were reported themselves",
		len(c.listings), c.loss, c.lossOfOthers)
}

// showRetouching prints what is planned for a message, or done.
func (c *cli) showRetouching(name string, r api.Retouching, done, asJSON bool) error {
	if asJSON {
		return c.printJSON(retouched{File: name, Done: done, Retouching: &r})
	}
	if len(r.Listings) == 0 && !done { // a copy of one that is done has none any more
		return c.print(name + ": nothing to retouch: not listed\n")
	}
	if done {
		return c.print(fmt.Sprintf("%s: retouched; now %s\n", name, r.Verdict))
	}
	return c.print(fmt.Sprintf("%s: %s\n", name, r.Verdict) + columns(func(table io.Writer) {
		for _, l := range r.Listings {
			fmt.Fprintf(table, "  %s\tgeneration %d, from %s\texpected loss %.2f\n", l.ID, l.Generation, instant(l.Start), l.Loss)
		}
	}))
}

// confirm asks on the terminal. Anything but yes is no.
func (c *cli) confirm(question string) bool {
	fmt.Fprintf(c.stderr, "spambloom: %s [y/N] ", question)
	answer, err := bufio.NewReader(io.LimitReader(c.stdin, 64)).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(c.stderr)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// listRetouched prints what is retouched.
func (c *cli) listRetouched(ctx context.Context, names []string, flags retouchFlags) error {
	if len(names) > 0 {
		return &usageError{errors.New("--list takes no FILE")}
	}
	list, err := asked(ctx, c, v1.Retouched)
	if err != nil {
		return err
	}
	if more := list.Total - len(list.Signatures); more > 0 {
		defer c.tell("warning", fmt.Sprintf("%d more are not shown", more))
	}
	return printList(c, flags.asJSON, list.Signatures, retouchedTable)
}

// retouchedTable is the readable form.
func retouchedTable(signatures []api.RetouchedKey) string {
	return columns(func(table io.Writer) {
		fmt.Fprintln(table, "SIGNATURE\tGENERATION\tFROM\tRETOUCHED")
		for _, k := range signatures {
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", k.ID, k.Generation, instant(k.Start), instant(k.At))
		}
	})
}
