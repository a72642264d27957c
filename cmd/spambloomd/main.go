// Command spambloomd judges mail for an MTA. It owns the wiring: it reads the
// configuration, opens the database, listens, and joins the packages that do
// the work, none of which knows the others. It is the only writer of its state
// folder; everything else talks to it through its sockets.
//
//	parse flags -> load config -> open database -> listen -> serve
//	  SIGHUP   reload what can be reloaded
//	  SIGTERM  stop accepting -> finish messages in flight -> snapshot -> exit 0
package main

//go:generate go test -run ^TestManual$ -update .

import (
	"cmp"
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	// A second signal ends the process at once and by itself, so that who waits sees
	// that it was no clean stop; nothing acknowledged is lost.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for the process around it. It returns the exit
// code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := command(stdout, stderr)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		complain(stderr, err)
	}
	return exitCode(err)
}

const help = `spambloomd judges mail for Postfix and Sendmail, as a milter: spam is what people
reported, bulk is what was seen often, on this site and on all it is joined with.

Without -c it reads /etc/spambloom/spambloom.toml where that exists; without a
file it listens on loopback only. The flags below override the file.

A damaged file that costs no reports of this site is set aside as NAME.damaged, and the
daemon starts without it. Other damage ends the start. Then --repair restores what the
files, the journal and the ledger of reports still hold; give it the flags of the daemon.

--restore takes a backup that spambloom backup has written. The state folder must be empty.
All of it is checked before it counts: after a crash, nothing of it is there, or all.

SIGHUP reloads the configuration, SIGTERM finishes messages in flight and stops. A
second SIGTERM ends it at once: the MTA treats what was in flight by its rule for a
milter that fails, and nothing that was acknowledged is lost.`

const files = `Environment:
  STATE_DIRECTORY  the state folder, as systemd sets it; --data comes before it

Files:
  /etc/spambloom/spambloom.toml      the configuration; every key is in the example
  /var/lib/spambloom                 the state folder of root
  ./spambloom-data                   the state folder of other users
  /var/lib/spambloom/spambloom.sock  the control socket, where [control] names no other`

// flags are what the command line says. Empty values leave the word to the
// configuration file.
type flags struct {
	config  string
	test    bool
	repair  bool
	restore string
	data    string

	// overrides of the configuration, by key
	listen                     []string
	control, http, redis, site string
}

func command(stdout, stderr io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:               "spambloomd",
		Short:             "mail filter daemon",
		Long:              help + "\n\n" + exitCodes + "\n\n" + files,
		Version:           version.Text("spambloomd"),
		Args:              usageArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newSettings(f, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if f.test {
				return sayGood(stdout, stderr, s)
			}
			if f.restore != "" {
				return restore(s, f.restore, cmd.InOrStdin(), stdout)
			}
			if f.repair {
				return repairState(s, s.logger(stderr, new(slog.LevelVar), new(pseudonyms)), stdout)
			}
			return serve(cmd.Context(), s, stdout, stderr)
		},
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &failure{exUsage, err} })
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVarP(&f.config, "config", "c", "", "configuration `FILE`")
	fs.BoolVarP(&f.test, "test", "t", false, "test the configuration and exit with 0 or 78")
	fs.BoolVar(&f.repair, "repair", false, "repair a damaged state folder, say what was lost, and exit")
	fs.StringVar(&f.restore, "restore", "", "restore a backup from `FILE`, or - for standard input, into an empty state folder, and exit")
	fs.StringVar(&f.data, "data", "", "state `FOLDER`")
	fs.StringArrayVar(&f.listen, "listen", nil, "milter `ADDRESS`, such as inet:8899@127.0.0.1 or unix:PATH; may be repeated")
	fs.StringVar(&f.control, "control", "", "control socket, unix:`PATH`")
	fs.StringVar(&f.http, "http", "", "`HOST:PORT` of metrics and health; empty for none")
	fs.StringVar(&f.redis, "redis", "", "`URL` of the Redis that joins the sites; empty for none")
	fs.StringVar(&f.site, "site", "", "`NAME` of this site")
	return cmd
}

func usageArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &failure{exUsage, fmt.Errorf("unknown argument %q", args[0])}
	}
	return nil
}

// sayGood ends -t.
func sayGood(stdout, stderr io.Writer, s *settings) error {
	for _, err := range s.passed {
		fmt.Fprintf(stderr, "spambloomd: warning: %v\n", err)
	}
	memory, err := s.mostMemory()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is good\nat most %d MiB of memory and %d threads (in a unit: MemoryMax, TasksMax)\n",
		cmp.Or(s.file, "the default configuration"), memory>>20, s.mostTasks())
	return err
}

// complain writes an error in the voice of the commands, one line for each of
// joined ones, and a hint where there is one.
func complain(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "spambloomd: error: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if hint := hint(err); hint != "" {
		fmt.Fprintf(stderr, "spambloomd: hint: %s\n", hint)
	}
}
