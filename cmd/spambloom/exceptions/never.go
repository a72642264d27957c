// Package exceptions has the verbs never and retouch. With them a message is not spam on this site
// only; other sites receive nothing of it.
package exceptions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// neverFlags are the flags of never.
type neverFlags struct {
	remove, list, asJSON, attached bool
	yes, force                     bool
	note, reporter                 string
}

const neverHelp = `never declares that messages and their near-duplicates are never spam on this site,
whoever reports them.

Reports of these messages are refused here. A declaration is kept until it is removed,
and is not sent to other sites.

A near-duplicate is a message of which at least half is text of the declared one.
An attachment of a declared message is also never spam in other mail. Any other
attachment is judged as usual, even beside the declared text.
Declare a message that is the same for all its recipients, such as a newsletter. A
sender who knows the declared text can add a little text to a copy of it.

--remove removes FILEs from the list, or IDs that --list shows. Earlier reports count again,
unless the message was settled (spambloom settle never): then it stays settled as wanted
until settle spam, an undo of settled:, or until that expires.

` + batch.AsksHelp + `

Exit codes:
  0   success, also if a message to remove is not on the list
  1   the answer to the question was no` + verb.UsageCode + verb.DeclareCode + verb.InputCode + verb.DaemonCodes + verb.StopsAt

// NeverCommand returns the verb never.
func NeverCommand(c *verb.CLI) *cobra.Command {
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
				return verb.UsageError(err)
			}
			switch {
			case flags.list:
				return listNever(cmd.Context(), c, flags)
			case flags.remove && len(names) > 0 && never.IsID(names[0]):
				return removeNeverIDs(cmd.Context(), c, names, flags)
			}
			return declare(cmd.Context(), c, names, flags)
		},
	}
	cmd.Flags().BoolVar(&flags.remove, "remove", false, "remove messages, or IDs that --list shows, from the list")
	cmd.Flags().BoolVar(&flags.list, "list", false, "list the declared messages")
	cmd.Flags().BoolVar(&flags.attached, "attached", false, batch.AttachedUsage)
	cmd.Flags().BoolVar(&flags.yes, "yes", false, batch.YesUsage)
	cmd.Flags().BoolVar(&flags.force, "force", false, batch.ForceUsage)
	cmd.Flags().StringVar(&flags.note, "note", "", "`TEXT` shown in the list, at most 200 bytes")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().StringVar(&flags.reporter, "as", "", verb.AskerUsage)
	return cmd
}

// check rejects flags that the daemon would refuse.
func (f *neverFlags) check(names []string) error {
	switch {
	case f.remove && f.list:
		return errors.New("--remove and --list: only one of them")
	case f.list && len(names) > 0:
		return errors.New("--list takes no FILE")
	case f.note != "" && (f.remove || f.list):
		return errors.New("--note is for declarations only, not for --remove or --list")
	}
	for _, name := range names {
		if f.remove && never.IsID(name) != never.IsID(names[0]) {
			return errors.New("--remove takes FILEs or IDs, not both at once")
		}
	}
	if err := never.CheckNote(f.note); err != nil {
		return fmt.Errorf("--note: %w", err)
	}
	if err := api.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--as: %w", err)
	}
	return nil
}

// neverDone is what `never --json` prints for a message.
type neverDone struct {
	File verb.MessageName `json:"file"`
	api.NeverList
	Error string `json:"error,omitempty"`
}

// declare declares each message, or removes its declarations.
func declare(ctx context.Context, c *verb.CLI, names []string, flags neverFlags) error {
	endpoint, word, question := v1.Never, "declared", "declare that all of them are never spam, on this site?"
	if flags.remove {
		endpoint, word, question = v1.RemoveNever, "removed", "remove all of them from the never-list?"
	}
	c.Changes = true
	messages, err := batch.Confirmed(ctx, c, question, names, flags.yes, func() iter.Seq2[batch.Input, error] { return batch.Messages(c, names, flags.attached) })
	if err != nil {
		return err
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	send := func(ctx context.Context, m signature.Message) (api.NeverList, error) {
		r, err := batch.RequestOf(m)
		switch {
		case err != nil:
			return api.NeverList{}, err
		case r.NoHeader && !flags.force && !flags.remove:
			return api.NeverList{}, signature.ErrNoHeader
		}
		r.Reporter, r.NoHeader = flags.reporter, false
		return client.Post(ctx, daemon, endpoint, api.NeverRequest{Request: r, Note: flags.note})
	}
	sum := batch.NewTotal()
	defer func() { sum.Print(c) }()
	return batch.Process(ctx, c, word, messages, send, func(r batch.Result[api.NeverList]) error {
		sum.Add(r.Err, word)
		if flags.asJSON {
			return c.PrintJSON(neverDone{r.Name, r.Answer, verb.ErrorText(r.Err)})
		}
		if r.Err != nil {
			return nil
		}
		return c.Print(neverLine(r.Name, r.Answer, word))
	})
}

// neverLine describes the outcome for one message.
func neverLine(name verb.MessageName, l api.NeverList, word string) string {
	if len(l.Entries) == 0 {
		return name.String() + ": has no entry of its own on the never-list\n"
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

// removeNeverIDs removes entries from the list by their ids.
func removeNeverIDs(ctx context.Context, c *verb.CLI, names []string, flags neverFlags) error {
	if err := batch.ConfirmedIDs(c, names, flags.yes, "remove all of them from the never-list?"); err != nil {
		return err
	}
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	count, finish := batch.Counting(c, len(names))
	defer finish()
	for i, id := range names {
		name := verb.MessageName(id)
		removed, err := client.Post(ctx, daemon, v1.RemoveNever, api.NeverRequest{ID: id, Request: api.Request{
			Signatures: []api.Signature{}, Reporter: flags.reporter}})
		if err != nil {
			return &batch.StoppedError{Err: fmt.Errorf("%s: %w", id, err), Name: name, Count: i, Done: "removed"}
		}
		count("removed")
		if err := c.PrintEither(flags.asJSON, neverDone{File: name, NeverList: removed}, neverLine(name, removed, "removed")); err != nil {
			return err
		}
	}
	return nil
}

// listNever prints the declared messages.
func listNever(ctx context.Context, c *verb.CLI, flags neverFlags) error {
	list, err := verb.Asked(ctx, c, v1.NeverList)
	if err != nil {
		return err
	}
	return verb.PrintList(c, flags.asJSON, list.Entries, neverTable)
}

// neverTable formats the never-list as a table.
func neverTable(entries []api.NeverEntry) string {
	return format.Columns(func(table io.Writer) {
		fmt.Fprintln(table, "MESSAGE\tDECLARED\tNOTE")
		for _, e := range entries {
			fmt.Fprintf(table, "%s\t%s\t%s\n", e.ID, format.Instant(e.At), e.Note)
		}
	})
}
