// Command spambloom reports spam and asks the daemon of this machine about
// messages. It owns the tree of commands and their help. Messages are signed
// here; only signatures are sent to the daemon, through its control socket.
//
//	FILE... -> mailbox.Read -> signature.Compute -> client.Client -> stdout
//
// The verbs are in packages of their own, by their purpose:
//
//	verdict      check, explain
//	report       report, revoke, flush
//	status       status, top, web, sites
//	reporters    reports, reporters, settle, undo, token
//	exceptions   never, retouch
//	federation   mute, drop, keygen
//	join         invite, join
//	doctor       doctor
//	maintenance  backup, fsck, version
//	trial        sign, replay
//
// They share package verb (streams, output, the daemon's socket, exit codes), package batch
// (work on many messages), and package format (times, sizes and tables).
//
// Results go to stdout, everything else to stderr as `spambloom: error: ...`,
// `spambloom: warning: ...` and `spambloom: hint: ...`, in lower case and without
// a full stop. A hint states what to do. A killed command leaves nothing half done. Three verbs handle SIGINT all the same: replay and backup remove their
// temporary files, report and revoke print where to resume.
package main

//go:generate go test -run ^TestManual$ -update .

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/doctor"
	"github.com/spambloom/spambloom/cmd/spambloom/exceptions"
	"github.com/spambloom/spambloom/cmd/spambloom/federation"
	"github.com/spambloom/spambloom/cmd/spambloom/join"
	"github.com/spambloom/spambloom/cmd/spambloom/learn"
	"github.com/spambloom/spambloom/cmd/spambloom/maintenance"
	"github.com/spambloom/spambloom/cmd/spambloom/report"
	"github.com/spambloom/spambloom/cmd/spambloom/reporters"
	"github.com/spambloom/spambloom/cmd/spambloom/setup"
	"github.com/spambloom/spambloom/cmd/spambloom/status"
	"github.com/spambloom/spambloom/cmd/spambloom/trial"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/spambloom/verdict"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &verb.CLI{Streams: verb.Streams{In: stdin, Out: stdout, Err: stderr}}
	root := commands(c)
	isUsage := true // until flags and arguments are valid, and a verb begins
	root.PersistentPreRun = func(*cobra.Command, []string) { isUsage = false }
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && isUsage {
		err = verb.UsageError(err)
	}
	complain(c, err, cmd.CommandPath())
	return verb.Code(err)
}

const environmentHelp = `

Environment:
  SPAMBLOOM_CONTROL     the daemon's control socket, unless --control is given
  SPAMBLOOM_QUEUE       the folder for reports queued while the daemon is away
  XDG_STATE_HOME        if SPAMBLOOM_QUEUE is not set, the queue is the folder
                        spambloom/queue below this one
  SPAMBLOOM_CA          CA file for a remote daemon
  SPAMBLOOM_CERT        client certificate sent to the daemon
  SPAMBLOOM_KEY         key of the client certificate
  SPAMBLOOM_TOKEN       token sent to the daemon
  SPAMBLOOM_TOKEN_FILE  file that contains the token

Files:
  /run/spambloom/control.sock           the control socket, if [control] listen names it
  /var/lib/spambloom/spambloom.sock     the default control socket
  ~/.local/state/spambloom/queue        queued reports; ~ is the home folder in the
                                        user's system account
  /var/spool/spambloom/UID              queued reports of users without a home folder

Exit codes:
  0   success
  64  wrong usage; the other codes are those of sysexits(3), and the help of each
      command lists its own`

// commands returns the tree of commands.
func commands(c *verb.CLI) *cobra.Command {
	root := &cobra.Command{
		Use:   "spambloom",
		Short: "report spam, and ask why a message is called spam",
		Long: `spambloom reports spam to the spambloomd of this machine, and asks it about
messages. Messages never leave this program; it sends only their signatures.

FILE is a message, an mbox, a Maildir, a folder of these, or - for the one
message on standard input, which is the default. An mbox on standard input is
named /dev/stdin.` + environmentHelp,
		Example: `  spambloom report spam.eml
  spambloom explain message.eml`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// The help goes to standard error: a script without a command has made a mistake.
		RunE: func(root *cobra.Command, _ []string) error {
			fmt.Fprint(c.Err, helpText(root))
			return verb.Exit(verb.Usage)
		},
	}
	root.SetVersionTemplate(version.Text("spambloom") + "\n")
	root.PersistentFlags().StringVar(&c.Control, "control", "",
		"the daemon's control socket: `unix:PATH`, or https://HOST:PORT of another machine (default: $SPAMBLOOM_CONTROL, else the usual places)")
	root.PersistentFlags().BoolVarP(&c.Quiet, "quiet", "q", false, "print errors and answers only: no hints, totals and lines of what was accepted")
	root.AddCommand( // in the order of the help
		verdict.CheckCommand(c), report.Command(c), report.RevokeCommand(c), verdict.ExplainCommand(c),
		status.Command(c), status.TopCommand(c), status.WebCommand(c), report.FlushCommand(c),
		reporters.ReportsCommand(c), reporters.Command(c), reporters.SettleCommand(c), reporters.UndoCommand(c), reporters.TokenCommand(c),
		exceptions.NeverCommand(c), exceptions.RetouchCommand(c), learn.Command(c),
		setup.Command(c.Streams, c.Dial), join.InviteCommand(c.Streams), join.Command(c.Streams),
		status.SitesCommand(c), federation.MuteCommand(c), federation.DropCommand(c), federation.KeygenCommand(c),
		doctor.Command(c.Streams, c.Dial), maintenance.BackupCommand(c), maintenance.FsckCommand(c), maintenance.VersionCommand(c),
		trial.SignCommand(c), trial.ReplayCommand(c),
	)
	arrange(root)
	return root
}

// complain prints an error of a command and a hint. Of an error that was printed when it
// happened, only the hint is printed.
func complain(c *verb.CLI, err error, command string) {
	var done verb.Exit
	if err == nil || errors.As(err, &done) {
		return
	}
	var printed *verb.PrintedError
	if !errors.As(err, &printed) {
		c.Notify("error", err.Error())
	}
	var stopped *batch.StoppedError
	if errors.As(err, &stopped) {
		c.Notify("error", stopped.Rest())
	}
	h := verb.Hint(err)
	if h == "" && verb.Code(err) == verb.Usage {
		h = usageHint(err, command)
	}
	if h != "" {
		c.Notify("hint", h)
	}
}
