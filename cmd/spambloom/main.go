// Command spambloom reports spam and asks the daemon of this machine about
// messages. It owns the verbs, what they print and their exit codes. Messages
// are signed here; only signatures go to the daemon, through its control
// socket.
//
//	FILE... -> mailbox.Read -> signature.Compute -> client.Client -> stdout
//
// Results go to stdout, everything else to stderr as `spambloom: error: ...`,
// `spambloom: warning: ...` and `spambloom: hint: ...`, in lower case and without
// a full stop; a hint says what to do. A command that is killed leaves nothing half
// done, so only replay and backup, which have temporary files, handle a signal.
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
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run does one command and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
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

	bar *progress // while messages are worked on

	control string // --control
	late    bool   // nothing is printed before the work is done
	ran     bool   // flags and arguments were right, and a verb has begun
}

const places = `

Exit codes:
  0   it is done
  64  wrong usage; other codes are those of sysexits(3), and each command names
      its own

Environment:
  SPAMBLOOM_CONTROL     the daemon's control socket, where --control is not given
  SPAMBLOOM_QUEUE       the folder in which reports wait while the daemon is away
  XDG_STATE_HOME        where SPAMBLOOM_QUEUE is not set: the queue is
                        spambloom/queue in it
  SPAMBLOOM_CA          the certificates that a daemon on another machine is trusted by
  SPAMBLOOM_CERT        the certificate by which it knows this one
  SPAMBLOOM_KEY         the key to that
  SPAMBLOOM_TOKEN       the token by which it knows this one
  SPAMBLOOM_TOKEN_FILE  the file that holds the token

Files:
  /run/spambloom/control.sock           the control socket, as [control] listen has it
  /var/lib/spambloom/spambloom.sock     the control socket by default
  ~/.local/state/spambloom/queue        reports that wait; ~ is the user's own home
                                        folder by the system's account
  /var/tmp/spambloom-queue-UID          likewise, of users without a home folder`

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "spambloom",
		Short: "report spam, and ask why a message is called spam",
		Long: `spambloom reports spam to the spambloomd of this machine, and asks it about
messages. Messages never leave this program: it sends their signatures.

FILE is a message, an mbox, a Maildir, a folder of these, or - for standard
input, which is also the default.` + places,
		Version:       version.String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return &usageError{errNoCommand}
		},
		PersistentPreRun: func(*cobra.Command, []string) { c.ran = true },
	}
	root.SetVersionTemplate(version.Text("spambloom") + "\n")
	root.PersistentFlags().StringVar(&c.control, "control", "",
		"the daemon's control socket, `unix:PATH`, or https://HOST:PORT of another machine (default: $SPAMBLOOM_CONTROL, or where daemons have it)")
	root.AddCommand(c.checkCommand(), c.reportCommand(), c.revokeCommand(), c.flushCommand(), c.reportsCommand(), c.undoCommand(), c.reportersCommand(), c.retouchCommand(), c.neverCommand(), c.signCommand(),
		c.explainCommand(), c.statusCommand(), c.sitesCommand(), c.muteCommand(), c.dropCommand(), c.backupCommand(), c.fsckCommand(), c.keygenCommand(), c.tokenCommand(), c.replayCommand(), c.versionCommand())
	checkHelp(root)
	return root
}

// noArguments is cobra.NoArgs for a verb: there what is too much is no command.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only: %.60q", cmd.Name(), args[0])
	}
	return nil
}

// checkHelp makes help for a command that does not exist an error.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it was made above
	}
	help.Args = func(_ *cobra.Command, args []string) error {
		if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return fmt.Errorf("unknown command %.60q for %q", args[len(args)-max(1, len(rest))], found.CommandPath())
		}
		return nil
	}
}

// complain prints an error and what can be done about it; errors that were
// printed when they happened leave only the hint.
func (c *cli) complain(err error) {
	var done verdictExit
	if err == nil || errors.As(err, &done) {
		return
	}
	var told *toldError
	if !errors.As(err, &told) {
		fmt.Fprintf(c.stderr, "spambloom: error: %v\n", err)
	}
	var stopped *stoppedError
	if errors.As(err, &stopped) {
		fmt.Fprintf(c.stderr, "spambloom: error: %s\n", stopped.rest())
	}
	if h := hint(err); h != "" {
		fmt.Fprintf(c.stderr, "spambloom: hint: %s\n", h)
	}
}
