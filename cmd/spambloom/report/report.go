// Package report is the verbs report, revoke and flush. It owns the way of a report to the
// daemon:
//
//	report, revoke -> pack -> courier -> daemon
//	                             |
//	                             v  if the daemon is away
//	                  flush <- queue (package queue)
//
// Once a report is queued, later ones are queued behind it, so that the newest word stays the
// newest.
package report

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
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// reportFlags are the flags of report and revoke.
type reportFlags struct {
	className string
	class     bloomdb.Class // parsed by check
	reporter  string
	named     bool // --as is given
	attached  bool // use the messages attached to the named ones
	dryRun    bool
	noQueue   bool
	skip      int // messages
	yes       bool
	force     bool // also what is no message
}

func (f *reportFlags) add(cmd *cobra.Command) {
	var names []string
	for _, class := range bloomdb.Classes() {
		names = append(names, class.String())
	}
	cmd.Flags().StringVar(&f.className, "class", "", "`CLASS` of the spam: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&f.reporter, "as", "", "name or address of the `REPORTER` (default: your login name)")
	cmd.Flags().BoolVar(&f.attached, "attached", false, batch.AttachedUsage)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be sent, one JSON object per message, and send nothing")
	cmd.Flags().BoolVar(&f.noQueue, "no-queue", false, "fail if the daemon is away, and queue nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, batch.YesUsage)
	cmd.Flags().BoolVar(&f.force, "force", false, batch.ForceUsage)
	cmd.Flags().IntVar(&f.skip, "skip", 0, "skip the first `N` messages, to resume after an interruption")
	// The flag exists, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc("class", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// check rejects flags that the daemon would refuse, before a message is read.
func (f *reportFlags) check() (err error) {
	if f.class, err = bloomdb.ParseClass(f.className); err != nil {
		return fmt.Errorf("--class: %w", err)
	}
	if err := api.CheckReporter(f.reporter); err != nil {
		return fmt.Errorf("--as: %w", err)
	}
	if f.named && f.reporter == "" { // most likely an empty variable of a script
		return errors.New("--as: REPORTER is empty")
	}
	if f.skip < 0 {
		return fmt.Errorf("--skip: %d, want 0 or more", f.skip)
	}
	return nil
}

// The exit codes of report and revoke.
const (
	reportCode = verb.DeclareCode + `, or a message on the never-list;
      with --attached also: no message is attached, or a feedback report is not
      about spam or lacks the message`
	sendCodes = `
  69  no daemon answers` + verb.OutputCode + `, the daemon's disk failed, or the
      queue cannot be written
  75  the queue is full, or the daemon cannot do it now
  76  the daemon has another version, or another program answered
  77  no permission
  130 interrupted by SIGINT between two messages; a hint shows how to resume
69, and the daemon's 74 and 75, occur only if queueing fails or --no-queue is given.`
	reportCodes = verb.UsageCode + reportCode + verb.InputCode + sendCodes + verb.StopsAt
)

const reportHelp = `

Only signatures are sent, with the class and the reporter; --dry-run prints exactly
what. The message itself is used, whatever is attached to it, so that a spam cannot
have another message reported in its place. For mail forwarded as an attachment
(message/rfc822), give --attached: it uses the attached messages, and refuses a
message without any, or with more than 200.

The latest decision counts: a report after a revocation lists the message again, and a
revocation after that clears it again, 14 times in one period ([reports] period of
the daemon, a week by default). Where the quorum is more than one reporter, see
contrib/quorum.md. For a single message, report and revoke print the resulting verdict.

If the daemon is away or cannot accept a report now, the report is queued on this
disk, after those queued before. The queue holds at most 1,000 reports, and at most
250 of one REPORTER named with --as. The next report or revocation delivers the
queue, and so does flush; spambloom status prints its length. A report counts from
its delivery. With --no-queue the command fails instead.

With --attached, the command understands feedback reports (ARF, RFC 5965), which
mailbox providers send. It uses the message that the complaint is about. Fraud is
reported as phish, and virus as malware, unless --class is given. report refuses the
type not-spam, which revoke accepts. Both refuse a feedback report that has only the
header of the message.

A file without any header field of an e-mail message, such as a program or a licence, is
refused. So is a message from standard input whose body begins with the rest of a header:
mutt has split it, because of a field such as "X-Mailer : x". A program that passes mail
on unchanged names standard input (-), which is believed.

` + batch.AsksHelp + `

Exit codes:
  0   all messages are accepted, and stored on the daemon's disk or queued on this one
  1   the answer to the question was no` + reportCodes

// Command returns the verb report.
func Command(c *verb.CLI) *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report [FILE...]",
		Short: "report messages as spam",
		Long: `report marks messages as spam: the next copies, here and on the other sites of the
federation, are called spam.

If the daemon keeps classes ([reports] classes), the header and check also name the
class. Of several classes, malware takes precedence, then phish, scam and bulk.` + reportHelp,
		Example: `  spambloom report spam.eml
  spambloom report --class phish --as anna@example.org ~/Maildir/.Junk
  spambloom report --attached forwarded.eml
  macro index S "<pipe-message>spambloom report<enter>"      # mutt`,
		RunE: func(cmd *cobra.Command, names []string) error {
			flags.named = cmd.Flags().Changed("as")
			return sendAll(cmd.Context(), c, "report", names, flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// RevokeCommand returns the verb revoke.
func RevokeCommand(c *verb.CLI) *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "revoke [FILE... | ID...]",
		Short: "take back reports: the messages are not spam",
		Long: `revoke declares that messages are not spam after all. Their signatures are no
longer listed, whoever reported them.

Given an ID, revoke uses what is kept of the latest message with it: of a report here, or
of mail judged lately. An unknown ID is an error (65).
` + batch.IDsHelp + reportHelp,
		Example: `  spambloom revoke invoice.eml
  spambloom revoke text:26409118f620fc3f`,
		RunE: func(cmd *cobra.Command, names []string) error {
			flags.named = cmd.Flags().Changed("as")
			ids, err := batch.IDsOf(names)
			switch {
			case err != nil:
				return err
			case len(ids) > 0:
				return revokeIDs(cmd.Context(), c, names, ids, flags)
			}
			return sendAll(cmd.Context(), c, "revoke", names, flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// sendAll sends a report or a revocation of each message, or queues it.
func sendAll(ctx context.Context, c *verb.CLI, action string, names []string, flags reportFlags) error {
	if err := flags.check(); err != nil {
		return verb.UsageError(err)
	}
	inputs := func() iter.Seq2[batch.Input, error] {
		return batch.After(flags.skip, batch.Messages(c, names, flags.attached))
	}
	if flags.dryRun {
		return showRequests(ctx, c, action, inputs(), flags)
	}
	c.Changes = true
	messages, err := batch.Confirmed(ctx, c, questions[action], names, flags.yes, inputs)
	if err != nil {
		return err
	}
	running, stop := batch.Interruptible(ctx, names)
	defer stop()
	run := &batch.Resumption{Taken: flags.skip}
	k, err := newCourier(ctx, c, action, flags)
	if err != nil {
		return err
	}
	defer k.close()
	err = submitAll(ctx, c, k, run.Remaining(running, messages), flags)
	if run.Next != "" {
		return batch.Interrupted(c, run)
	}
	var stopped *batch.StoppedError
	if errors.As(err, &stopped) {
		stopped.Skip = flags.skip + stopped.Before
	}
	return errors.Join(err, k.finish(ctx))
}

// questions ask for confirmation of many messages.
var questions = map[string]string{
	"report": "report all of them as spam, on all sites?",
	"revoke": "revoke the reports of all of them, on all sites?",
}

// submitAll sends all messages through the courier, and shows the receipts and the total.
func submitAll(ctx context.Context, c *verb.CLI, k *courier, messages iter.Seq2[batch.Input, error], flags reportFlags) error {
	submit := func(ctx context.Context, in batch.Input) (parcel, error) {
		p, err := flags.pack(k.action, in)
		if err == nil {
			p.receipt, p.queued, err = k.submit(ctx, p.request)
		}
		return p, identified(in, err)
	}
	sum, holds, count := batch.NewTotal(), "", 0
	err := batch.ProcessInputs(ctx, c, k.done(), messages, submit, func(r batch.Result[parcel]) error {
		sum.Add(r.Err, outcomeOf(r.Answer))
		holds, count = r.Answer.receipt.Holds, count+1
		if r.Err != nil {
			return nil
		}
		warnLarge(c, r)
		if r.Answer.ignoresAttached {
			c.Notify("hint", r.Name.String()+": only the message itself was used; --attached uses the messages attached to it")
		}
		return showReceipt(c, r.Name, r.Answer)
	})
	if count == 1 && holds != "" && err == nil { // of many messages, the total says more
		err = c.Print("  " + holds + "\n")
	}
	if sum.Outcomes["queued"] > 0 {
		c.Notify("hint", "queued reports are on this disk; the next report or spambloom flush delivers them")
	}
	sum.Print(c)
	return err
}

// maxMessageID bounds a Message-ID in an error, in bytes.
const maxMessageID = 200

// identified adds the Message-ID to an error about a message from standard input, which
// has no other name. The log of the program that piped it in then names the message.
func identified(in batch.Input, err error) error {
	if err == nil || !batch.ConcernsOne(err) || !strings.HasPrefix(string(in.Name), "-") {
		return err
	}
	for _, f := range in.Message.Header {
		if id := strings.TrimSpace(f.Value); f.Is("Message-ID") && id != "" {
			return fmt.Errorf("%w; message-id=%s", err, printable(id[:min(len(id), maxMessageID)]))
		}
	}
	return err
}

// printable replaces what is not visible ASCII, because the sender chose it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// showRequests prints the requests that would be sent.
func showRequests(ctx context.Context, c *verb.CLI, action string, messages iter.Seq2[batch.Input, error], flags reportFlags) error {
	write := func(_ context.Context, in batch.Input) (parcel, error) {
		p, err := flags.pack(action, in)
		p.request = withReporter(p.request, c.Spec())
		return p, err
	}
	return batch.ProcessInputs(ctx, c, "printed", messages, write, func(r batch.Result[parcel]) error {
		if r.Err != nil {
			return nil
		}
		warnLarge(c, r)
		return c.PrintJSON(r.Answer.request)
	})
}

func warnLarge(c *verb.CLI, r batch.Result[parcel]) {
	if r.Answer.needsWhole {
		c.Notify("warning", r.Name.String()+": mail over max_message is judged by its beginning; this report may not match other copies")
	}
}

// showReceipt prints the outcome for a message.
func showReceipt(c *verb.CLI, name verb.MessageName, p parcel) error {
	if p.queued != nil {
		return c.Print(fmt.Sprintf("%s: queued; %v\n", name, p.queued))
	}
	if p.receipt.Offer == "retouch" {
		c.Notify("hint", fmt.Sprintf("%s: others listed it again after an earlier revocation. An administrator decides it for this site: spambloom settle wanted FILE, or, without an end, spambloom never FILE", name))
	}
	return c.Print(receiptLine(name, p.receipt))
}

// receiptLine reports that a message is accepted, and why that has no effect yet.
func receiptLine(name verb.MessageName, r api.Receipt) string {
	note := ""
	switch {
	case !r.RevokedUntil.IsZero():
		note = ", but still not spam: it was reported and revoked too often in this period, which ends " + format.Instant(r.RevokedUntil)
	case r.Settled:
		note = ", without effect here: an administrator has settled this message"
	case r.Held:
		note = ", but held until a second reporter or an administrator agrees"
	case !r.WaitsUntil.IsZero():
		note = ", and waits: nobody has reported it; a listing from another site before " + format.Instant(r.WaitsUntil) + " is revoked"
	case r.Idle:
		note = ", but there was nothing to revoke: no report of it counts"
	case r.Quorum > 0:
		note = fmt.Sprintf(", but pending: its weight is %.3g of the quorum %.3g", r.Sum, r.Quorum)
	}
	return fmt.Sprintf("%s: accepted%s; id=%s\n", name, note, strings.Join(r.IDs, ","))
}

// parcel is the request for one message, and its outcome.
type parcel struct {
	request         api.Request
	receipt         api.Receipt
	queued          error // why the request is queued; nil: it is not
	needsWhole      bool  // the request has no signature of the message's beginning
	ignoresAttached bool  // messages are attached to the message, but were not used
}

// pack signs a message. It returns bloomdb.ErrNothing if there is too little content, and
// signature.ErrNoHeader if it is none.
func (f reportFlags) pack(action string, in batch.Input) (parcel, error) {
	class, m := f.class, in.Message
	if in.Feedback != "" {
		of, err := classOfFeedback(in.Feedback)
		if err != nil && action == "report" {
			return parcel{}, err
		}
		if f.className == "" {
			class = of
		}
	}
	set := signature.Compute(m)
	switch {
	case set.NoHeader && !f.force:
		return parcel{}, signature.ErrNoHeader
	case len(set.Signatures) == 0:
		return parcel{}, bloomdb.ErrNothing
	}
	set.NoHeader = false
	p := parcel{request: api.NewRequest(set), needsWhole: needsWhole(m, set), ignoresAttached: !f.attached && batch.HasAttached(m)}
	p.request.Class, p.request.Reporter = class, f.reporter
	return p, nil
}

// keptOfMessage is the number of bytes of a message that the milter keeps by default
// ([milter] max_message). This program does not read the daemon's configuration.
const keptOfMessage = 10 << 20

// needsWhole reports whether none of a message's signatures can be computed from the
// part of a copy that the milter keeps.
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

// withReporter adds the login name as the reporter if --as is not given and the daemon
// at control is on another machine. On a unix socket the kernel identifies the user; a
// remote daemon would take all users of a mail store for one reporter.
func withReporter(r api.Request, control string) api.Request {
	if r.Reporter == "" && verb.IsRemote(control) {
		r.Reporter = loginName()
	}
	return r
}

// loginName returns the user's login name, or an empty string if the system has none.
func loginName() string {
	u, err := user.Current()
	if err != nil || api.CheckReporter(u.Username) != nil {
		return ""
	}
	return u.Username
}

// outcomeOf names the outcome of a report or a revocation.
func outcomeOf(p parcel) string {
	switch {
	case p.queued != nil:
		return "queued"
	case p.receipt.Held:
		return "held"
	case p.receipt.Idle:
		return "with nothing to revoke"
	case p.receipt.Known:
		return "known before"
	}
	return "accepted"
}
