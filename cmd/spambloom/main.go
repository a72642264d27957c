// Command spambloom reports spam and asks the daemon of this machine about
// messages. It owns the verbs, their output and their exit codes. Messages
// are signed here; only signatures are sent to the daemon, through its control
// socket.
//
//	FILE... -> mailbox.Read -> signature.Compute -> client.Client -> stdout
//
// Results go to stdout, everything else to stderr as `spambloom: error: ...`,
// `spambloom: warning: ...` and `spambloom: hint: ...`, in lower case and without
// a full stop. A hint tells the user what to do. A killed command leaves nothing half
// done. Three verbs handle SIGINT all the same: replay and backup remove their
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
	"github.com/spambloom/spambloom/cmd/spambloom/doctor"
	"github.com/spambloom/spambloom/cmd/spambloom/join"
	"github.com/spambloom/spambloom/cmd/spambloom/setup"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	c.verb = cmd.CommandPath()
	if err != nil && !c.ran {
		err = &usageError{err}
	}
	c.complain(err)
	return exitCode(err)
}

// cli is one run of the program.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	bar      *progress // set while messages are processed
	expected int       // messages, if they were counted before; else 0

	control string // --control
	quiet   bool   // --quiet
	verb    string // what was called, such as "spambloom check"; "" until it has ended
	late    bool   // the verb prints nothing before it is done
	changes bool   // the verb changes something for each message
	ran     bool   // flags and arguments were valid, and a verb has begun
}

func (c *cli) streams() verb.Streams { return verb.Streams{In: c.stdin, Out: c.stdout, Err: c.stderr} }

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

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "spambloom",
		Short: "report spam, and ask why a message is called spam",
		Long: `spambloom reports spam to the spambloomd of this machine, and asks it about
messages. Messages never leave this program; it sends only their signatures.

FILE is a message, an mbox, a Maildir, a folder of these, or - for standard
input. The default is standard input.` + environmentHelp,
		Example: `  spambloom report spam.eml
  spambloom explain message.eml`,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// The help goes to standard error: a script without a command has made a mistake.
		RunE: func(root *cobra.Command, _ []string) error {
			fmt.Fprint(c.stderr, helpText(root))
			return verdictExit(exUsage)
		},
		PersistentPreRun: func(*cobra.Command, []string) { c.ran = true },
	}
	root.SetVersionTemplate(version.Text("spambloom") + "\n")
	root.PersistentFlags().StringVar(&c.control, "control", "",
		"the daemon's control socket: `unix:PATH`, or https://HOST:PORT of another machine (default: $SPAMBLOOM_CONTROL, else the usual places)")
	root.PersistentFlags().BoolVarP(&c.quiet, "quiet", "q", false, "print errors and answers only: no hints, totals and lines of what was accepted")
	root.AddCommand(c.checkCommand(), c.reportCommand(), c.revokeCommand(), c.flushCommand(), c.reportsCommand(), c.settleCommand(), c.undoCommand(), c.reportersCommand(), c.retouchCommand(), c.neverCommand(), c.signCommand(),
		c.explainCommand(), c.statusCommand(), c.topCommand(), c.webCommand(), c.sitesCommand(), c.muteCommand(), c.dropCommand(), c.backupCommand(), c.fsckCommand(), c.keygenCommand(), join.InviteCommand(c.streams()), join.Command(c.streams()), setup.Command(c.streams(), c.dial), doctor.Command(c.streams(), c.dial), c.tokenCommand(), c.replayCommand(), c.versionCommand())
	arrange(root)
	return root
}

// complain prints an error and a hint. Of an error that was printed when it
// happened, only the hint is printed.
func (c *cli) complain(err error) {
	var done verdictExit
	if err == nil || errors.As(err, &done) {
		return
	}
	var printed *printedError
	if !errors.As(err, &printed) {
		c.notify("error", err.Error())
	}
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		c.notify("error", stopped.rest())
	}
	h := hint(err)
	if h == "" && exitCode(err) == exUsage {
		h = usageHint(err, c.verb)
	}
	if h != "" {
		c.notify("hint", h)
	}
}
