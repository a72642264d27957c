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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloom/doctor"
	"github.com/spambloom/spambloom/cmd/spambloom/join"
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

	bar      *progress // set while messages are processed
	expected int       // messages, if they were counted before; else 0

	control string // --control
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
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return &usageError{errNoCommand}
		},
		PersistentPreRun: func(*cobra.Command, []string) { c.ran = true },
	}
	root.SetVersionTemplate(version.Text("spambloom") + "\n")
	root.PersistentFlags().StringVar(&c.control, "control", "",
		"the daemon's control socket: `unix:PATH`, or https://HOST:PORT of another machine (default: $SPAMBLOOM_CONTROL, else the usual places)")
	root.AddCommand(c.checkCommand(), c.reportCommand(), c.revokeCommand(), c.flushCommand(), c.reportsCommand(), c.settleCommand(), c.undoCommand(), c.reportersCommand(), c.retouchCommand(), c.neverCommand(), c.signCommand(),
		c.explainCommand(), c.statusCommand(), c.topCommand(), c.webCommand(), c.sitesCommand(), c.muteCommand(), c.dropCommand(), c.backupCommand(), c.fsckCommand(), c.keygenCommand(), join.InviteCommand(c.streams()), join.Command(c.streams()), doctor.Command(c.streams(), c.dial), c.tokenCommand(), c.replayCommand(), c.versionCommand())
	root.SetHelpFunc(showHelp)
	checkHelp(root)
	return root
}

// showHelp prints the help of a command in the order in which readers need it: its
// purpose, which is the first paragraph of Long, then usage, examples and flags, then
// the details, with the exit codes last.
func showHelp(cmd *cobra.Command, _ []string) {
	purpose, details, _ := strings.Cut(cmp.Or(cmd.Long, cmd.Short), "\n\n")
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s\n\n%s", purpose, cmd.UsageString())
	if details != "" {
		fmt.Fprintf(out, "\n%s\n", details)
	}
}

// noArguments is cobra.NoArgs for a verb, whose arguments are not commands.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only: %.60q", cmd.Name(), args[0])
	}
	return nil
}

// checkHelp makes help for an unknown command an error.
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

// complain prints an error and a hint. Of an error that was printed when it
// happened, only the hint is printed.
func (c *cli) complain(err error) {
	var done verdictExit
	if err == nil || errors.As(err, &done) {
		return
	}
	var printed *printedError
	if !errors.As(err, &printed) {
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
