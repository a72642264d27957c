// Package trial is the verbs sign and replay, which need no daemon: the signatures of messages,
// and how much spam would be caught in sorted mail. Package cmd/internal/replay owns the
// measurement.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/signature"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	spam, ham []string
	learn     []string
	labels    string
	order     string
	noClock   bool
	run       replay.Options
	keys      int
	missed    bool
	asJSON    bool
	plot      string
}

// The exit codes of replay.
const (
	createCode = `
  73  the plot cannot be written`
	stateCode   = verb.OutputCode + `, or the temporary files`
	replayCodes = verb.UsageCode + verb.EmptyCode + verb.InputCode + createCode + stateCode + verb.Continues
)

// ReplayCommand returns the verb replay.
func ReplayCommand(c *verb.CLI) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --spam PATH --ham PATH",
		Short: "measure on sorted mail how much spam would be caught; needs no daemon",
		Long: `replay measures on your own mail how much spam would be caught, and which ham would
be hit.

It takes mail sorted into spam and ham, runs it through the daemon's pipeline in the
order of arrival, and reports each spam after judging it. It prints the results by kind
of signature, and the reasons for each ham that was hit. Caught means the verdict spam;
bulk is shown separately. Filters, reports and sites are real. They live in a folder of
$TMPDIR, or else of /dev/shm, which is removed at the end. Reports expire after five
weeks, as in the daemon by default.

The time of a message is that of its newest Received field with a time, else its Date.
A message without either follows the message that was read before it. The clock of the
databases follows the messages. With --order file or --no-clock it stands still.

PATH is a message, an mbox, a Maildir, a folder of these, or - for one message on standard
input; /dev/stdin may be an mbox.
Each line of the file named by --labels is "spam PATH" or "ham PATH", separated by a
tab or blank. Paths are relative to that file.

A federation's key selects the features of a reported text that form its sketch. A
partial copy is therefore listed under one key, but not under another. With --keys N
replay runs under N keys, and shows all ham that was hit under any of them.

Like the daemon, replay learns what is common in mail that is not reported, and does not
count it as evidence. With --learn it first learns from other wanted mail. There is no
verifier of senders: the From of ham counts as proven, that of spam does not.

All signatures are kept in memory: about 10 KiB per message.

With --json, one object: messages, spam, ham, caught, caught_share (of the spam),
missed, ham_hit, bulk_spam, bulk_ham, unsigned_spam, unsigned_ham (too little content
to sign), reported, unreportable, kinds (kind, caught, alone: by no other kind,
ham_hit), false_positives (file, time, keys: under how many it was hit, reasons: kind, id,
reported: the message that matched, or none after a filter's error, found, need,
likeness for sketches: the share of the reported one's features, domains: reported
messages that share one), keys (seed, caught, ham_hit, bulk_ham),
missed_files (file, verdict) with --missed, from, to, without_time, unreadable,
sign_seconds, judge_seconds, bytes, sites, seed, report_after, report_share, clock,
order.

Exit codes:
  0   the mail was replayed, whatever was caught` + replayCodes,
		Example: `  spambloom replay --spam ~/Maildir/.Junk --ham ~/Maildir
  spambloom replay --labels full/index --sites 3 --report-after 50 --plot caught.svg`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd.Context(), c, f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.spam, "spam", nil, "`PATH` of spam; may be given several times")
	flags.StringArrayVar(&f.ham, "ham", nil, "`PATH` of ham; may be given several times")
	flags.StringArrayVar(&f.learn, "learn", nil, "`PATH` of wanted mail to learn from before the first message; may be given several times")
	flags.BoolVar(&f.run.NoCommonness, "no-commonness", false, "do not learn what is common in mail that is not reported")
	flags.StringVar(&f.labels, "labels", "", "`FILE` that lists spam and ham, one per line")
	flags.StringVar(&f.order, "order", "time", "order of the messages: time, or file for the order of reading")
	flags.BoolVar(&f.noClock, "no-clock", false, "stop the clock, so that no report expires")
	flags.IntVar(&f.run.Sites, "sites", 1, "distribute the messages among `N` sites")
	flags.IntVar(&f.run.ReportAfter, "report-after", 0, "report a spam `N` messages after it arrived")
	flags.Float64Var(&f.run.ReportShare, "report-share", 1, "share of the spam that is reported, 0 to 1")
	flags.Uint64Var(&f.run.BulkThreshold, "bulk-threshold", 20, "number of sightings that makes a message bulk; 0: never")
	flags.Uint64Var(&f.run.Seed, "seed", 1, "seed of random choices: sites, reports, the filters' key")
	flags.IntVar(&f.keys, "keys", 1, "run under `N` federation keys, made from --seed and the seeds after it")
	flags.BoolVar(&f.missed, "missed", false, "also print the missed spam")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	flags.StringVar(&f.plot, "plot", "", "plot the share of caught spam over the messages into `FILE.svg`")
	return cmd
}

// maxKeys bounds --keys.
const maxKeys = 1000

// check rejects wrong flags before any work is done.
func (f *replayFlags) check() error {
	switch {
	case len(f.spam) == 0 && len(f.ham) == 0 && f.labels == "":
		return errors.New("no mail given: want --spam and --ham, or --labels")
	case f.keys < 1 || f.keys > maxKeys:
		return fmt.Errorf("--keys %d: want 1 to %d", f.keys, maxKeys)
	case f.order != "time" && f.order != "file":
		return fmt.Errorf("--order %q: want time or file", f.order)
	case f.plot != "" && filepath.Ext(f.plot) != ".svg":
		return fmt.Errorf("--plot %q: want a name that ends in .svg", f.plot)
	}
	return f.run.Validate()
}

// replayed is what `replay --json` prints.
type replayed struct {
	*replay.Result
	WithoutTime int     `json:"without_time"`
	Unreadable  int     `json:"unreadable"`
	SignSeconds float64 `json:"sign_seconds"`
	Bytes       int64   `json:"bytes"`
	Sites       int     `json:"sites"`
	Seed        uint64  `json:"seed"`
	ReportAfter int     `json:"report_after"`
	ReportShare float64 `json:"report_share"`
	Clock       bool    `json:"clock"`
	Order       string  `json:"order"`
}

func measure(ctx context.Context, c *verb.CLI, f replayFlags) error {
	f.run.Clock = !f.noClock && f.order == "time"
	if err := f.check(); err != nil {
		return verb.UsageError(err)
	}
	plot, err := createPlot(f.plot)
	if err != nil {
		return err
	}
	defer plot.Close()
	// SIGINT ends the run normally, so that its temporary folder is removed.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c.Late = true
	a, failed := readArchive(ctx, c, f)
	if ctx.Err() != nil {
		return verb.Exit(verb.Interrupted)
	}
	if failed != nil && len(a.messages) == 0 {
		return failed
	}
	if len(f.learn) > 0 {
		wanted, err := readArchive(ctx, c, replayFlags{ham: f.learn})
		if err != nil && len(wanted.messages) == 0 {
			return err
		}
		f.run.Learn = wanted.messages
	}
	out := replayed{
		Unreadable: a.unreadable, SignSeconds: a.took.Seconds(), Bytes: a.bytes, Clock: f.run.Clock, Order: f.order,
		Sites: f.run.Sites, Seed: f.run.Seed, ReportAfter: f.run.ReportAfter, ReportShare: f.run.ReportShare,
	}
	if f.order == "time" {
		out.WithoutTime = replay.Sort(a.messages)
	}
	if out.Result, err = runArchive(ctx, c, a.messages, f); err != nil {
		return err
	}
	if !f.missed {
		out.MissedFiles = nil
	}
	if err := showReplayed(c, out, f.asJSON, plot); err != nil {
		return err
	}
	return failed
}

// createPlot creates the plot's file before any work is done. It replaces a file of that name. Anything
// else is refused: it may be another user's link or pipe, or a device.
func createPlot(name string) (plot *os.File, err error) {
	if name == "" {
		return nil, nil
	}
	info, err := os.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file, and a plot replaces only such a file", name)
	case err == nil:
		err = os.Remove(name) // a hard link may lead to another user's file
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		plot, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return nil, &verb.Fault{Code: verb.CantCreate, Err: err}
	}
	return plot, nil
}

// runArchive replays messages in a temporary folder.
func runArchive(ctx context.Context, c *verb.CLI, messages []replay.Message, f replayFlags) (*replay.Result, error) {
	dir, err := makeStateFolder()
	if err != nil {
		return nil, stateFault(err)
	}
	defer os.RemoveAll(dir)
	f.run.Dir = dir
	bar := c.StartProgress()
	defer bar.Finish()
	result, err := replay.RunKeys(ctx, messages, f.run, f.keys, bar.Add)
	switch {
	case ctx.Err() != nil:
		return nil, verb.Exit(verb.Interrupted)
	case err != nil:
		return nil, stateFault(err)
	}
	return result, nil
}

// stateFault is a failure of the databases.
func stateFault(err error) error {
	return &verb.Fault{Code: verb.IOErr, Err: err, Hint: "free space in the folder for temporary files, or set TMPDIR to another one"}
}

// memoryFolder is a file system in memory, if the system has one.
const memoryFolder = "/dev/shm"

// makeStateFolder creates a folder in $TMPDIR, or else in memory. Each report is synced
// to disk, which is useless here and slow on a real disk.
func makeStateFolder() (string, error) {
	const pattern = "spambloom-replay"
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(memoryFolder, pattern); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", pattern)
}

func showReplayed(c *verb.CLI, out replayed, asJSON bool, plot *os.File) error {
	if plot != nil {
		if err := cmp.Or(out.Plot(plot), plot.Close()); err != nil {
			return &verb.Fault{Code: verb.CantCreate, Err: err}
		}
	}
	return c.PrintEither(asJSON, out, replayedText(out))
}

// archive is sorted mail, signed.
type archive struct {
	messages   []replay.Message
	unreadable int
	bytes      int64
	took       time.Duration
}

// maxBody is the part of a message's body that is signed, in bytes: as much as the
// daemon keeps by default.
const maxBody = 10 << 20

// readArchive signs all messages in the order of reading. It returns the first error
// that concerned one message only; all such errors are printed.
func readArchive(ctx context.Context, c *verb.CLI, f replayFlags) (a archive, err error) {
	sources, err := f.sources(c.In)
	if err != nil {
		return a, err
	}
	begin := time.Now()
	latest := begin.Add(24 * time.Hour)
	type arrived struct {
		message replay.Message
		bytes   int
	}
	sign := func(_ context.Context, m signature.Message) (arrived, error) {
		size := len(m.Body)
		for _, field := range m.Header {
			size += len(field.Name) + len(field.Value) + len(": \n")
		}
		if len(m.Body) > maxBody {
			m.Body, m.Truncated = m.Body[:maxBody], true
		}
		return arrived{replay.Message{Time: replay.TimeOf(m, latest), From: replay.FromOf(m), Set: signature.Compute(m)}, size}, nil
	}
	var read labelled
	err = batch.Process(ctx, c, "read", read.inputs(c, sources), sign, func(r batch.Result[arrived]) error {
		spam := read.next()
		if r.Err != nil {
			a.unreadable++
			return nil
		}
		m := r.Answer.message
		m.Name, m.Spam = string(r.Name), spam
		a.messages = append(a.messages, m)
		a.bytes += int64(r.Answer.bytes)
		return nil
	})
	a.took = time.Since(begin)
	return a, err
}
