// Command spambloomd judges mail for an MTA. It owns the wiring: it reads the
// configuration, opens the database, listens, and connects the packages that do the work,
// which do not import each other. It is the only writer of its state folder; other programs
// use its sockets.
//
//	parse flags -> load config -> open database -> listen -> serve
//	  SIGHUP   reload what can be reloaded
//	  SIGTERM  stop accepting -> finish messages in flight -> snapshot -> exit 0
package main

//go:generate go test -run ^TestManual$ -update .

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/version"
	"github.com/spambloom/spambloom/cmd/spambloomd/dryrun"
	"github.com/spambloom/spambloom/cmd/spambloomd/exit"
	"github.com/spambloom/spambloom/cmd/spambloomd/privacy"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/spambloomd/state"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// A second signal ends the process at once and by itself, so that its parent sees an
	// unclean stop. Nothing acknowledged is lost.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program except for the process around it. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := command(stdout, stderr)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		printError(stderr, err)
	}
	return exitCode(err)
}

const help = `spambloomd judges mail for Postfix and Sendmail as a milter. Spam is mail that was
reported; bulk is mail that was seen many times, on this site and on connected sites.

Without -c it reads /etc/spambloom/spambloom.toml if that exists; without a file it
listens on loopback only. The flags below override the file.

If a damaged file contains no reports of this site, the daemon sets it aside as
NAME.damaged and starts without it. Other damage prevents the start. --repair then
restores the data left in the files, the journal and the ledger of reports; give it the
daemon's flags.

--restore restores a backup made by spambloom backup. The state folder must be empty. The
backup is checked completely first: after a crash, all of it has been restored, or nothing.

-t refuses what the start would refuse: the configuration, a state folder that the user may
not write, or whose keys, site, periods or versions do not fit, and addresses that the user
may not listen on. Root tries the start as the owner of the state folder, with the groups and
capabilities of the unit. Sockets that systemd holds for the unit replace addresses, as at a
start. It changes nothing, and the daemon may be running. Damaged data is
found by spambloom fsck.

SIGHUP reloads the configuration. SIGTERM finishes messages in flight and stops. A second
SIGTERM stops at once: the MTA handles messages in flight by its rule for a failing
milter, and nothing that was acknowledged is lost.`

const files = `Environment:
  STATE_DIRECTORY  the state folder, as set by systemd; --data overrides it
  SPAMBLOOM_REDIS  the URL of Redis instead of redis.url; --redis overrides it

Files:
  /etc/spambloom/spambloom.toml      the configuration; the example lists every key
  /var/lib/spambloom                 the state folder of root
  ./spambloom-data                   the state folder of other users
  /var/lib/spambloom/spambloom.sock  the control socket, unless [control] sets another`

func command(stdout, stderr io.Writer) *cobra.Command {
	var f settings.Flags
	cmd := &cobra.Command{
		Use:               "spambloomd",
		Short:             "mail filter daemon",
		Long:              help + "\n\n" + exitCodes + "\n\n" + files,
		Example:           "  spambloomd -t -c /etc/spambloom/spambloom.toml\n  spambloomd --print-config\n  spambloomd --data ./state --listen inet:8899@127.0.0.1",
		Version:           version.Text("spambloomd"),
		Args:              usageArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Test {
				f.Passed = dryrun.Passed(settings.StateFolder(f.Data))
			}
			s, err := settings.New(f, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if f.Test {
				return dryrun.Run(s, f.Passed, stdout, stderr)
			}
			if f.Print {
				return printConfig(stdout, s)
			}
			if f.Restore != "" {
				return state.Restore(s, f.Restore, cmd.InOrStdin(), stdout)
			}
			if f.Repair {
				return state.Repair(s, s.Logger(stderr, new(slog.LevelVar), new(privacy.Pseudonyms)), stdout)
			}
			return serve(cmd.Context(), s, stdout, stderr)
		},
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exit.Failure{Code: exit.Usage, Err: err} })
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.Config, "config", "c", "", "configuration `FILE`")
	fs.BoolVarP(&f.Test, "test", "t", false, "test the configuration, the state folder and the addresses; exit with 0, or as the start would")
	fs.BoolVar(&f.Print, "print-config", false, "print every key with its value in effect, without passwords, and exit")
	fs.BoolVar(&f.Repair, "repair", false, "repair a damaged state folder, report what was lost, and exit")
	fs.StringVar(&f.Restore, "restore", "", "restore a backup from `FILE`, or - for standard input, into an empty state folder, and exit")
	fs.StringVar(&f.Data, "data", "", "state `FOLDER`")
	fs.StringArrayVar(&f.Listen, "listen", nil, "milter `ADDRESS`, such as inet:8899@127.0.0.1 or unix:PATH; may be repeated")
	fs.StringVar(&f.Control, "control", "", "control socket, unix:`PATH`")
	fs.StringVar(&f.HTTP, "http", "", "`HOST:PORT` of metrics and health; empty for none")
	fs.StringVar(&f.Redis, "redis", "", "`URL` of the Redis that connects the sites; empty for none. Other users of this machine see a password in it: put that into the file, or the URL into SPAMBLOOM_REDIS")
	fs.StringVar(&f.Site, "site", "", "`NAME` of this site")
	return cmd
}

func usageArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &exit.Failure{Code: exit.Usage, Err: fmt.Errorf("unknown argument %q", args[0])}
	}
	return nil
}

// printError writes an error in the format of all commands, one line for each joined error,
// and a hint if there is one.
func printError(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "spambloomd: error: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if hint := hint(err); hint != "" {
		fmt.Fprintf(stderr, "spambloomd: hint: %s\n", hint)
	}
}
