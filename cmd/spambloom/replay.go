package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/signature"
)

// replayFlags are those of `replay`.
type replayFlags struct {
	spam, ham []string
	labels    string
	order     string
	noClock   bool
	run       replay.Options
	keys      int
	missed    bool
	asJSON    bool
	plot      string
}

func (c *cli) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --spam PATH --ham PATH",
		Short: "try on sorted mail what would be caught; asks nobody",
		Long: `replay runs mail that is sorted into spam and ham through the pipeline of the
daemon, in the order in which it came, and reports each spam once it was judged. It
prints how much spam was caught, which ham was hit and why, by kind of signature.
Caught means the verdict spam; bulk is shown apart. Filters, reports and sites are
real ones, in a folder of $TMPDIR, or else of /dev/shm, that is removed at the end;
no daemon is asked. Reports age as they do in the daemon by default, after five weeks.

The order is that of the newest Received field that has a time, else of Date;
messages without both stay behind the one that was read before them. The clock of
the databases follows. With --order file it stands still, as with --no-clock.

PATH is a message, an mbox, a Maildir, a folder of these, or - for standard input.
A line of the file that --labels names is "spam PATH" or "ham PATH", with a tab or
blank between; paths are relative to that file.

A federation's key decides which features of a reported text make its sketch, so
what is like it in part is listed under one key and not under the other. With --keys
N it is run under so many, and all ham that was hit under some is shown.

All signatures are held in memory: some 10 KiB a message.

With --json, one object: messages, spam, ham, caught, caught_share (of the spam),
missed, ham_hit, bulk_spam, bulk_ham, unsigned_spam, unsigned_ham (too little content
to sign), reported, unreportable, kinds (kind, caught, alone: by no other kind,
ham_hit), false_positives (file, time, keys: under how many it was hit, reasons: kind, id,
reported: the message that it is owed to, or none where a filter erred, found, need,
likeness for sketches: the share of the reported one's features, domains: reported
messages that share one), keys (seed, caught, ham_hit, bulk_ham),
missed_files (file, verdict) with --missed, from, to, without_time, unreadable,
sign_seconds, judge_seconds, bytes, sites, seed, report_after, report_share, clock,
order.

Exit codes:
  0   the archive was run, whatever was caught` + replayCodes,
		Example: `  spambloom replay --spam ~/Maildir/.Junk --ham ~/Maildir
  spambloom replay --labels full/index --sites 3 --report-after 50 --plot caught.svg`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.replay(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.spam, "spam", nil, "`PATH` of spam; may be given several times")
	flags.StringArrayVar(&f.ham, "ham", nil, "`PATH` of ham; may be given several times")
	flags.StringVar(&f.labels, "labels", "", "`FILE` that names spam and ham, one a line")
	flags.StringVar(&f.order, "order", "time", "the order of the messages: time, or file for that in which they are read")
	flags.BoolVar(&f.noClock, "no-clock", false, "let no time pass: no report ages")
	flags.IntVar(&f.run.Sites, "sites", 1, "`N` sites, among which the messages are dealt")
	flags.IntVar(&f.run.ReportAfter, "report-after", 0, "report a spam when `N` further messages have come")
	flags.Float64Var(&f.run.ReportShare, "report-share", 1, "the share of spam that anybody reports, 0 to 1")
	flags.Uint64Var(&f.run.BulkThreshold, "bulk-threshold", 20, "sightings from which a message is bulk; 0: never")
	flags.Uint64Var(&f.run.Seed, "seed", 1, "of what is drawn: sites, reports, the filters' key")
	flags.IntVar(&f.keys, "keys", 1, "run it under `N` federation keys, those of the seeds from --seed on")
	flags.BoolVar(&f.missed, "missed", false, "print the spam that was missed, too")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	flags.StringVar(&f.plot, "plot", "", "draw the share of spam caught over the messages, into `FILE.svg`")
	return cmd
}

// maxKeys bounds --keys.
const maxKeys = 1000

// check finds mistakes of the command line before any work is done.
func (f *replayFlags) check() error {
	switch {
	case len(f.spam) == 0 && len(f.ham) == 0 && f.labels == "":
		return errors.New("no mail given: want --spam and --ham, or --labels")
	case f.keys < 1 || f.keys > maxKeys:
		return fmt.Errorf("%d keys, must be 1 to %d", f.keys, maxKeys)
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

func (c *cli) replay(ctx context.Context, f replayFlags) error {
	f.run.Clock = !f.noClock && f.order == "time"
	if err := f.check(); err != nil {
		return &usageError{err}
	}
	plot, err := createPlot(f.plot)
	if err != nil {
		return err
	}
	defer plot.Close()
	// Who stops it should not have to clear up behind it.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c.late = true
	a, failed := c.readArchive(ctx, f)
	if ctx.Err() != nil {
		return verdictExit(exInterrupted)
	}
	if failed != nil && len(a.messages) == 0 {
		return failed
	}
	out := replayed{
		Unreadable: a.unreadable, SignSeconds: a.took.Seconds(), Bytes: a.bytes, Clock: f.run.Clock, Order: f.order,
		Sites: f.run.Sites, Seed: f.run.Seed, ReportAfter: f.run.ReportAfter, ReportShare: f.run.ReportShare,
	}
	if f.order == "time" {
		out.WithoutTime = replay.Sort(a.messages)
	}
	if out.Result, err = c.runArchive(ctx, a.messages, f); err != nil {
		return err
	}
	if !f.missed {
		out.MissedFiles = nil
	}
	if err := c.showReplayed(out, f.asJSON, plot); err != nil {
		return err
	}
	return failed
}

// createPlot opens the plot's file, before any work is done.
func createPlot(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	plot, err := os.Create(name)
	if err != nil {
		return nil, &createError{err}
	}
	return plot, nil
}

// runArchive replays in a folder of its own.
func (c *cli) runArchive(ctx context.Context, messages []replay.Message, f replayFlags) (*replay.Result, error) {
	dir, err := makeStateFolder()
	if err != nil {
		return nil, &stateError{err}
	}
	defer os.RemoveAll(dir)
	f.run.Dir = dir
	c.bar = newProgress(c)
	defer c.bar.finish()
	result, err := replay.RunKeys(ctx, messages, f.run, f.keys, c.bar.add)
	switch {
	case ctx.Err() != nil:
		return nil, verdictExit(exInterrupted)
	case err != nil:
		return nil, &stateError{err}
	}
	return result, nil
}

// memoryFolder is a file system in memory, where there is one.
const memoryFolder = "/dev/shm"

// makeStateFolder makes a folder in $TMPDIR, or else in memory: each report is
// synced to disk, of which nobody has anything here.
func makeStateFolder() (string, error) {
	const pattern = "spambloom-replay"
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(memoryFolder, pattern); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", pattern)
}

func (c *cli) showReplayed(out replayed, asJSON bool, plot *os.File) error {
	if plot != nil {
		if err := cmp.Or(out.Plot(plot), plot.Close()); err != nil {
			return &createError{err}
		}
	}
	return c.printEither(asJSON, out, replayedText(out))
}

// archive is sorted mail, signed.
type archive struct {
	messages   []replay.Message
	unreadable int
	bytes      int64
	took       time.Duration
}

// maxBody is how much of a message's body is signed: as much as the daemon keeps
// by default.
const maxBody = 10 << 20

// readArchive signs all messages, in the order in which they are read. The error
// is the first of those that concern one message each and were told.
func (c *cli) readArchive(ctx context.Context, f replayFlags) (a archive, err error) {
	sources, err := f.sources(c.stdin)
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
		return arrived{replay.Message{Time: replay.TimeOf(m, latest), Set: signature.Compute(m)}, size}, nil
	}
	var read labelled
	err = process(ctx, c, "read", read.inputs(c, sources), sign, func(r result[arrived]) error {
		spam := read.next()
		if r.err != nil {
			a.unreadable++
			return nil
		}
		m := r.answer.message
		m.Name, m.Spam = r.name, spam
		a.messages = append(a.messages, m)
		a.bytes += int64(r.answer.bytes)
		return nil
	})
	a.took = time.Since(begin)
	return a, err
}
