package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// reportFlags are those of report and revoke.
type reportFlags struct {
	className string
	class     bloomdb.Class // parsed by check
	reporter  string
	named     bool // --as is given
	attached  bool // the messages attached to those that are named, not these
	dryRun    bool
	noQueue   bool
	skip      int // messages
}

func (f *reportFlags) add(cmd *cobra.Command) {
	var names []string
	for _, class := range bloomdb.Classes() {
		names = append(names, class.String())
	}
	cmd.Flags().StringVar(&f.className, "class", "", "`CLASS` of spam it is: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&f.reporter, "as", "", "name or address of the `REPORTER` (default: your login name)")
	cmd.Flags().BoolVar(&f.attached, "attached", false, attachedUsage)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be sent, one JSON object a message, and send nothing")
	cmd.Flags().BoolVar(&f.noQueue, "no-queue", false, "fail where the daemon is away, and queue nothing")
	cmd.Flags().IntVar(&f.skip, "skip", 0, "leave out the first `N` messages: to go on after an interruption")
	// The flag exists, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses what the daemon would refuse, before a message is read.
func (f *reportFlags) check() (err error) {
	if f.class, err = bloomdb.ParseClass(f.className); err != nil {
		return fmt.Errorf("--class: %w", err)
	}
	if err := api.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--as: %w", err)
	}
	if f.named && f.reporter == "" { // a script's variable, which should have had a user's name
		return errors.New("--as: an empty REPORTER")
	}
	if f.skip < 0 {
		return fmt.Errorf("--skip: %d messages", f.skip)
	}
	return nil
}

const reportHelp = `

The message itself is taken, whatever is attached to it: a spam cannot bring the
message that is reported in its place. Mail that was forwarded as attachment
(message/rfc822) goes with --attached, which takes the attached messages, and
refuses a message without any. Only signatures are sent, with the class and the
reporter; --dry-run shows exactly what.

Within one period ([reports] period of the daemon, a week by default) a
revocation wins: what was revoked can be reported at once, but is spam only when
it is reported again in a later period. report says so, and when that begins.

Where no daemon answers, or cannot take a report now, it waits in a queue on this
disk, behind those that wait already: at most 1,000 of them, and 250 of one REPORTER
named with --as. The next report or revocation delivers what waits, and so does flush;
spambloom status says how many wait. A report counts from when it is delivered.
--no-queue fails instead.

With --attached, feedback reports (ARF, RFC 5965), as mailbox providers send them,
are understood: the message that is complained about is taken; fraud is reported as
phish, and virus as malware, unless --class is given. report refuses not-spam
(revoke takes it). A feedback report with the header of the message only is refused.

Exit codes:
  0   all messages are accepted, and on the daemon's disk, or on this one: queued` + reportCodes

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
  spambloom report --attached forwarded.eml
  macro index,pager S "<pipe-message>spambloom report<enter>"      # mutt`,
		RunE: func(cmd *cobra.Command, names []string) error {
			flags.named = cmd.Flags().Changed("as")
			return c.send(cmd.Context(), "report", names, flags)
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
			flags.named = cmd.Flags().Changed("as")
			return c.send(cmd.Context(), "revoke", names, flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// send sends a report or a revocation of each message, or queues it.
func (c *cli) send(ctx context.Context, verb string, names []string, flags reportFlags) error {
	if err := flags.check(); err != nil {
		return &usageError{err}
	}
	inputs := c.messages(names, flags.attached)
	way := &passage{skip: flags.skip}
	if flags.dryRun {
		return c.showRequests(ctx, verb, way.through(ctx, inputs), flags)
	}
	running, stop := interruptible(ctx, names)
	defer stop()
	messages := way.through(running, inputs)
	k, err := c.newCourier(ctx, verb, flags)
	if err != nil {
		return err
	}
	defer k.close()
	send := func(ctx context.Context, in input) (parcel, error) {
		p, err := flags.pack(verb, in)
		if err == nil {
			p.receipt, p.queued, err = k.carry(ctx, p.request)
		}
		return p, err
	}
	queued := false
	err = processInputs(ctx, c, k.done(), messages, send, func(r result[parcel]) error {
		if r.err != nil {
			return nil
		}
		c.warnLarge(r)
		if r.answer.brings {
			c.tell("hint", r.name+": only the message itself was taken; --attached takes those attached to it")
		}
		queued = queued || r.answer.queued != nil
		return c.showReceipt(r.name, r.answer)
	})
	if way.next != "" {
		return c.tellInterrupted(way)
	}
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		stopped.skip = flags.skip + stopped.before
	}
	if queued {
		c.tell("hint", "what is queued is on this disk; the next report delivers it, and so does spambloom flush")
	}
	return errors.Join(err, k.after(ctx))
}

// showRequests prints what send would send.
func (c *cli) showRequests(ctx context.Context, verb string, messages iter.Seq2[input, error], flags reportFlags) error {
	write := func(_ context.Context, in input) (parcel, error) {
		p, err := flags.pack(verb, in)
		p.request = named(p.request, c.spec())
		return p, err
	}
	return processInputs(ctx, c, "printed", messages, write, func(r result[parcel]) error {
		if r.err != nil {
			return nil
		}
		c.warnLarge(r)
		return c.printJSON(r.answer.request)
	})
}

func (c *cli) warnLarge(r result[parcel]) {
	if r.answer.needsWhole {
		c.tell("warning", r.name+": mail over max_message is judged on its beginning; this report may not match its copies")
	}
}

// showReceipt says what became of a message.
func (c *cli) showReceipt(name string, p parcel) error {
	if p.queued != nil {
		return c.print(fmt.Sprintf("%s: queued; %v\n", name, p.queued))
	}
	if p.receipt.Offer == "retouch" {
		c.tell("hint", name+": it was revoked before, and is listed again; spambloom retouch clears it for good, on this site")
	}
	return c.print(receiptLine(name, p.receipt))
}

// receiptLine says that a message is accepted, and where that has no effect yet.
func receiptLine(name string, r api.Receipt) string {
	note := ""
	switch {
	case !r.RevokedUntil.IsZero():
		note = ", but still not spam: it was revoked in this period, which ends " + instant(r.RevokedUntil)
	case r.Idle:
		note = ", but there was nothing to take back: no report of it counts"
	case r.Quorum > 0:
		note = fmt.Sprintf(", and waits for others: it has %.3g of the %.3g that it takes", r.Sum, r.Quorum)
	}
	return fmt.Sprintf("%s: accepted%s; id=%s\n", name, note, strings.Join(r.IDs, ","))
}

// parcel is a message's way to the daemon and back.
type parcel struct {
	request    api.Request
	receipt    api.Receipt
	queued     error // set: why it waits in the queue
	needsWhole bool  // the request has no signature of the message's beginning
	brings     bool  // messages are attached to the message, which were not taken
}

// pack signs a message; bloomdb.ErrNothing where there is too little of it.
func (f reportFlags) pack(verb string, in input) (parcel, error) {
	class, m := f.class, in.message
	if in.feedback != "" {
		of, err := classOfFeedback(in.feedback)
		if err != nil && verb == "report" {
			return parcel{}, err
		}
		if f.className == "" {
			class = of
		}
	}
	set := signature.Compute(m)
	if len(set.Signatures) == 0 {
		return parcel{}, bloomdb.ErrNothing
	}
	p := parcel{request: api.NewRequest(set), needsWhole: needsWhole(m, set), brings: !f.attached && brings(m)}
	p.request.Class, p.request.Reporter = class, f.reporter
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

// named adds who reports, where no --as says so and the daemon at control cannot know:
// on a unix socket the kernel tells it, by the daemon's own list of users, but on
// another machine all of a mail store's users would have the store's name.
func named(r api.Request, control string) api.Request {
	if r.Reporter == "" && isRemote(control) {
		r.Reporter = loginName()
	}
	return r
}

// loginName is the user's, or empty where the system does not know it.
func loginName() string {
	u, err := user.Current()
	if err != nil || api.CheckReporter(u.Username) != nil {
		return ""
	}
	return u.Username
}
