package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// neverFlags are those of never.
type neverFlags struct {
	remove, list, asJSON, attached bool
	note, reporter                 string
}

const neverHelp = `never declares messages that must never be called spam on this site: the copy, and
near-duplicates, whoever reported them or will. Their reports are refused here.
What is declared is kept until it is removed, and told to no other site.

A near-duplicate is a message of which at least half is text of the declared one.
An attachment of a declared message is spared in other mail too. One that the
declared message did not have is judged as ever, also beside the declared text.
Declare what is the same for all, such as a newsletter as it was sent: who knows
what is declared can put a little text of his own into a copy.

--remove takes FILEs off the list again, or the IDs that --list shows.

Exit codes:
  0   all is done, which includes the removal of what is not on the list` + changeCodes

func (c *cli) neverCommand() *cobra.Command {
	var flags neverFlags
	cmd := &cobra.Command{
		Use:   "never [FILE...]",
		Short: "declare messages that are never spam, on this site only",
		Long:  neverHelp,
		Example: `  spambloom never --note 'our newsletter' newsletter.eml
  spambloom never --list
  spambloom never --remove text:2c624232cdd22177`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := flags.check(names); err != nil {
				return &usageError{err}
			}
			switch {
			case flags.list:
				return c.listNever(cmd.Context(), flags)
			case flags.remove && len(names) > 0 && never.IsID(names[0]):
				return c.removeNeverIDs(cmd.Context(), names, flags)
			}
			return c.never(cmd.Context(), names, flags)
		},
	}
	cmd.Flags().BoolVar(&flags.remove, "remove", false, "take messages, or the IDs that --list shows, off the list")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list what is declared")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, attachedUsage)
	cmd.Flags().StringVar(&flags.note, "note", "", "`TEXT` to be shown in the list, at most 200 bytes")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object a line")
	cmd.Flags().StringVar(&flags.reporter, "as", "", askerUsage)
	return cmd
}

// check refuses what the daemon would refuse.
func (f *neverFlags) check(names []string) error {
	switch {
	case f.remove && f.list:
		return errors.New("--remove and --list: only one of them")
	case f.list && len(names) > 0:
		return errors.New("--list takes no FILE")
	case f.note != "" && (f.remove || f.list):
		return errors.New("--note goes with a declaration only")
	}
	for _, name := range names {
		if f.remove && never.IsID(name) != never.IsID(names[0]) {
			return errors.New("--remove takes FILEs or IDs, not both at once")
		}
	}
	if err := never.CheckNote(f.note); err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	if err := reporting.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--as: %w", err)
	}
	return nil
}

// neverDone is what `never --json` prints for a message.
type neverDone struct {
	File string `json:"file"`
	reporting.NeverList
	Error string `json:"error,omitempty"`
}

// never declares each message, or takes its declarations back.
func (c *cli) never(ctx context.Context, names []string, flags neverFlags) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	ask, word := daemon.Never, "declared"
	if flags.remove {
		ask, word = daemon.Unnever, "removed"
	}
	send := func(ctx context.Context, m signature.Message) (reporting.NeverList, error) {
		r, err := requestOf(m)
		if err != nil {
			return reporting.NeverList{}, err
		}
		r.Reporter = flags.reporter
		return ask(ctx, reporting.NeverRequest{Request: r, Note: flags.note})
	}
	return process(ctx, c, word, c.messages(names, flags.attached), send, func(r result[reporting.NeverList]) error {
		if flags.asJSON {
			return c.printJSON(neverDone{r.name, r.answer, errorText(r.err)})
		}
		if r.err != nil {
			return nil
		}
		return c.print(neverLine(r.name, r.answer, word))
	})
}

// neverLine says what became of one message.
func neverLine(name string, l reporting.NeverList, word string) string {
	if len(l.Entries) == 0 {
		return name + ": not on the never-list by itself\n"
	}
	names := make([]string, len(l.Entries))
	for i, e := range l.Entries {
		names[i] = e.ID
	}
	line := fmt.Sprintf("%s: %s; id=%s", name, word, strings.Join(names, ","))
	if l.Verdict != "" {
		line += "; now " + l.Verdict
	}
	return line + "\n"
}

// removeNeverIDs takes entries off the list by their ids.
func (c *cli) removeNeverIDs(ctx context.Context, names []string, flags neverFlags) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	for i, id := range names {
		removed, err := daemon.Unnever(ctx, reporting.NeverRequest{ID: id, Request: reporting.Request{
			Signatures: []reporting.Signature{}, Reporter: flags.reporter}})
		if err != nil {
			return &stoppedError{error: fmt.Errorf("%s: %w", id, err), name: id, count: i, done: "removed"}
		}
		if err := c.printEither(flags.asJSON, neverDone{File: id, NeverList: removed}, neverLine(id, removed, "removed")); err != nil {
			return err
		}
	}
	return nil
}

// listNever prints what is declared.
func (c *cli) listNever(ctx context.Context, flags neverFlags) error {
	list, err := asked(ctx, c, (*reporting.Client).NeverList)
	if err != nil {
		return err
	}
	return printList(c, flags.asJSON, list.Entries, neverTable)
}

// neverTable is the readable form.
func neverTable(entries []reporting.NeverEntry) string {
	return columns(func(table io.Writer) {
		fmt.Fprintln(table, "MESSAGE\tDECLARED\tNOTE")
		for _, e := range entries {
			fmt.Fprintf(table, "%s\t%s\t%s\n", e.ID, instant(e.At), e.Note)
		}
	})
}
