package main

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// reportFlags are those of report and revoke.
type reportFlags struct {
	className string
	class     bloomdb.Class // parsed by check
	reporter  string
	attached  bool // only messages that are attached to others
	dryRun    bool
}

func (f *reportFlags) add(cmd *cobra.Command) {
	var names []string
	for _, class := range bloomdb.Classes() {
		names = append(names, class.String())
	}
	cmd.Flags().StringVar(&f.className, "class", "", "`CLASS` of spam it is: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&f.reporter, "as", "", "name or address of the `REPORTER` (default: your login name)")
	cmd.Flags().BoolVar(&f.attached, "attached", false, "take attached messages only: one without any is refused, as at a report address")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be sent, one JSON object a message, and send nothing")
	// The flag exists, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses what the daemon would refuse, before a message is read, and adds
// the default.
func (f *reportFlags) check() (err error) {
	if f.class, err = bloomdb.ParseClass(f.className); err != nil {
		return fmt.Errorf("--class: %w", err)
	}
	if err := reporting.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--as: %w", err)
	}
	f.reporter = cmp.Or(f.reporter, loginName())
	return nil
}

const reportHelp = `

Mail that was forwarded as attachment (message/rfc822) is unpacked: the attached
messages are taken in the place of the one around them. Only signatures are
sent, with the class and who reports; --dry-run shows exactly what.

Within one period ([reports] period of the daemon, a week by default) a
revocation wins: what was revoked can be reported at once, but is spam only when
it is reported again in a later period. report says so, and when that begins.

Exit codes:
  0   all messages are accepted, and on the daemon's disk` + reportCodes

func (c *cli) reportCommand() *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE...]",
		Short: "report messages as spam",
		Long: `report tells the daemon that messages are spam: the next copies, here and on the
other sites of the federation, are called spam. Where the daemon keeps classes
([reports] classes), their header and check say of which class, too; of several,
malware comes before phish, scam and bulk.` + reportHelp,
		Example: `  spambloom report spam.eml
  spambloom report --class phish --as anna@example.org ~/Maildir/.Junk
  macro index,pager S "<pipe-message>spambloom report<enter>"      # mutt`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return c.send(cmd.Context(), names, flags, (*reporting.Client).Report)
		},
	}
	flags.add(cmd)
	return cmd
}

func (c *cli) revokeCommand() *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "revoke [FILE...]",
		Short: "take back reports: the messages are no spam",
		Long: `revoke tells the daemon that messages are no spam after all: their signatures
are no longer listed, whoever reported them.` + reportHelp,
		Example: `  spambloom revoke invoice.eml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return c.send(cmd.Context(), names, flags, (*reporting.Client).Revoke)
		},
	}
	flags.add(cmd)
	return cmd
}

// send sends a report or a revocation of each message.
func (c *cli) send(ctx context.Context, names []string, flags reportFlags,
	verb func(*reporting.Client, context.Context, reporting.Request) (reporting.Receipt, error),
) error {
	if err := flags.check(); err != nil {
		return &usageError{err}
	}
	inputs := c.inputs(names)
	if flags.attached {
		inputs = withAttached(inputs)
	}
	messages := unpacked(inputs)
	if flags.dryRun {
		write := func(_ context.Context, m signature.Message) (parcel, error) { return flags.pack(m) }
		return process(ctx, c, "printed", messages, write, func(r result[parcel]) error {
			if r.err != nil {
				return nil
			}
			c.warnLarge(r)
			return c.printJSON(r.answer.request)
		})
	}
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	send := func(ctx context.Context, m signature.Message) (parcel, error) {
		p, err := flags.pack(m)
		if err == nil {
			p.receipt, err = verb(daemon, ctx, p.request)
		}
		return p, err
	}
	return process(ctx, c, "accepted", messages, send, func(r result[parcel]) error {
		if r.err != nil {
			return nil
		}
		c.warnLarge(r)
		return c.print(receiptLine(r.name, r.answer.receipt))
	})
}

func (c *cli) warnLarge(r result[parcel]) {
	if r.answer.needsWhole {
		c.tell("warning", r.name+": mail over max_message is judged on its beginning; this report may not match its copies")
	}
}

// receiptLine says that a message is accepted, and where that has no effect.
func receiptLine(name string, r reporting.Receipt) string {
	note := ""
	if !r.RevokedUntil.IsZero() {
		note = ", but still not spam: it was revoked in this period, which ends " + instant(r.RevokedUntil)
	}
	return fmt.Sprintf("%s: accepted%s; id=%s\n", name, note, strings.Join(r.IDs, ","))
}

// parcel is a message's way to the daemon and back.
type parcel struct {
	request    reporting.Request
	receipt    reporting.Receipt
	needsWhole bool // the request has no signature of the message's beginning
}

// pack signs a message; bloomdb.ErrNothing where there is too little of it.
func (f reportFlags) pack(m signature.Message) (parcel, error) {
	set := signature.Compute(m)
	if len(set.Signatures) == 0 {
		return parcel{}, bloomdb.ErrNothing
	}
	p := parcel{request: reporting.NewRequest(set), needsWhole: needsWhole(m, set)}
	p.request.Class, p.request.Reporter = f.class, f.reporter
	return p, nil
}

// keptOfMessage is how many bytes of a message the milter keeps by default:
// [milter] max_message. This program does not know what is configured.
const keptOfMessage = 10 << 20

// needsWhole tells whether none of a message's signatures can be made of what the
// milter keeps of its copies.
func needsWhole(m signature.Message, set signature.Set) bool {
	room := keptOfMessage
	for _, f := range m.Header {
		room -= len(f.Name) + len(f.Value)
	}
	if len(m.Body) <= room {
		return false
	}
	beginning := signature.Message{Header: m.Header, Body: m.Body[:max(room, 0)], Truncated: true}
	return !slices.ContainsFunc(signature.Compute(beginning).Signatures, func(s signature.Signature) bool {
		return slices.Contains(set.Signatures, s)
	})
}

// loginName is the user's, or empty where the system does not know it.
func loginName() string {
	u, err := user.Current()
	if err != nil || reporting.CheckReporter(u.Username) != nil {
		return ""
	}
	return u.Username
}
