package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/cmd/bloomlab/replica"
	"github.com/spambloom/spambloom/cmd/bloomlab/variation"
)

// maxMessages bounds --messages: each message has its own database on disk.
const maxMessages = 100_000

// missedError is the number of rows below their aim.
type missedError int

func (n missedError) Error() string {
	return fmt.Sprintf("kinds of variation below their aim: %d", int(n))
}

// signatureFlags are the flags of signatures.
type signatureFlags struct {
	messages                           int
	seed                               uint64
	kinds                              []string
	corpus                             string
	json, list, pairs, together, check bool
}

func signaturesCommand(stdout, stderr io.Writer) *cobra.Command {
	var f signatureFlags
	cmd := &cobra.Command{
		Use:   "signatures",
		Short: "measure which varied copies of a reported spam are caught",
		Long: `Report real spams, vary each in many ways, and print how many varied copies are
caught, by kind of variation. "min-hash" is the share that rspamd's method catches
of the same copies, by their text, and "page" by the structure of their HTML. "peer" is the best of Razor, Pyzor, DCC and rspamd, measured on
other copies. "aim" is our aim, and "by" the signatures that caught the copies. Rows
below the aim are marked.

Each copy is judged by a database in which only its original was reported. A seed
determines the copies on every machine.`,
		Example: `  bloomlab signatures --corpus spamassassin.tar.xz`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			kinds, err := f.chosen()
			switch {
			case err != nil:
				return err
			case f.list:
				return listKinds(stdout, kinds)
			}
			return f.run(cmd, kinds, stdout, stderr)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.corpus, "corpus", "", "`PATH` of a folder with the folders spam and ham, or of such a .tar.xz")
	fs.IntVar(&f.messages, "messages", 200, "report `N` spams, 1 to 100000")
	fs.Uint64Var(&f.seed, "seed", 1, "`SEED` of the choice of spams and of all copies")
	fs.StringSliceVar(&f.kinds, "kinds", nil, "only these `KIND,...` of variation")
	fs.BoolVar(&f.together, "together", false, "report all originals in one database")
	fs.BoolVar(&f.pairs, "pairs", false, "print how much text copies share with the original, and judge nothing")
	fs.BoolVar(&f.check, "check", false, "exit with 1 if a row is below its aim")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per line")
	fs.BoolVar(&f.list, "list", false, "list the kinds of variation")
	return cmd
}

func (f signatureFlags) chosen() ([]variation.Kind, error) {
	if f.messages < 1 || f.messages > maxMessages {
		return nil, fmt.Errorf("--messages %d: want 1 to %d", f.messages, maxMessages)
	}
	if len(f.kinds) == 0 {
		return variation.Kinds(), nil
	}
	var kinds []variation.Kind
	for _, name := range f.kinds {
		k, ok := variation.Find(name)
		if !ok {
			return nil, fmt.Errorf("--kinds: unknown kind %q; `bloomlab signatures --list` lists them", name)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func listKinds(stdout io.Writer, kinds []variation.Kind) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		fmt.Fprintf(w, "%s\t%s\n", k.Name, k.About)
	}
	return written(w.Flush())
}

func written(err error) error {
	if err != nil {
		return outputError{err}
	}
	return nil
}

func (f signatureFlags) run(cmd *cobra.Command, kinds []variation.Kind, stdout, stderr io.Writer) error {
	if f.corpus == "" {
		return errors.New("--corpus PATH is required")
	}
	c, err := replica.Read(cmd.Context(), f.corpus)
	if err != nil {
		return err
	}
	work := f.messages
	if f.pairs {
		work = len(kinds)
	}
	bar := newProgress(stderr, work)
	defer bar.finish()
	o := replica.Options{Messages: f.messages, Seed: f.seed, Kinds: kinds, Together: f.together, Progress: bar.add}
	if f.pairs {
		list := replica.Pairs(c, o)
		bar.clear()
		return written(f.showPairs(stdout, list))
	}
	rows, summary, err := replica.Run(cmd.Context(), c, o)
	if err != nil {
		return err
	}
	bar.clear()
	if err := f.show(stdout, rows, summary); err != nil {
		return outputError{err}
	}
	return f.missed(rows)
}

func (f signatureFlags) missed(rows []replica.Row) error {
	var missed missedError
	for _, r := range rows {
		if r.Missed() {
			missed++
		}
	}
	if f.check && missed > 0 {
		return missed
	}
	return nil
}

func (f signatureFlags) show(w io.Writer, rows []replica.Row, s replica.Summary) error {
	if f.json {
		enc := json.NewEncoder(w)
		for _, r := range rows {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		return enc.Encode(s)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "kind\tcopies\tcaught %%\tmin-hash %%\tpage %%\tpeer %%\taim %%\t\tby\n")
	for _, r := range rows {
		share := func(n int) float64 { return 100 * float64(n) / float64(max(1, r.Copies)) }
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\n", r.Kind, r.Copies, r.Rate, share(r.Rival), share(r.Pages), orDash(r.Peer), percent(r.Aim), mark(r), by(r))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d spams reported. %d of %d ham hit%s\nreport filters: %.0f bytes a message, of which sketches %.0f; a copy is signed and judged in %.2f ms (p50), %.2f ms (p95)\n",
		s.Reported, len(s.HamHits), s.Ham, named(s.HamHits), s.Memory, s.Sketches, float64(s.P50)/1e6, float64(s.P95)/1e6)
	return err
}

func named(hits []string) string {
	if len(hits) == 0 {
		return "."
	}
	return ":\n  " + strings.Join(hits, "\n  ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func percent(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%g", x)
}

func mark(r replica.Row) string {
	if r.Missed() {
		return "MISSED"
	}
	return ""
}

// by lists the signatures that caught copies, in the order of their numbers.
func by(r replica.Row) string {
	var list []string
	for _, name := range signatureKinds {
		if n := r.By[name]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(list, ", ")
}

var signatureKinds = []string{"body", "text", "attachment", "sketch", "image", "domain", "content", "shape", "phrase"}

func (f signatureFlags) showPairs(w io.Writer, list []replica.Likeness) error {
	if f.json {
		enc := json.NewEncoder(w)
		for _, l := range list {
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "kind\tcopies\tmeasure\tp1\tp5\tp25\tp50\n")
	for _, l := range list {
		fmt.Fprintf(t, "%s\t%d\t%s\t%.3f\t%.3f\t%.3f\t%.3f\n", l.Kind, l.Copies, l.Measure, l.Shares[0], l.Shares[1], l.Shares[2], l.Shares[3])
	}
	return t.Flush()
}
