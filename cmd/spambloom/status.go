package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/queue"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show what the daemon knows about itself",
		Long: `status shows how full the daemon's filters are, how often they would call a
message spam that nobody reported, the memory they take, and how far each site
of the federation has been heard; and first, also without a daemon, how many reports
wait in this user's queue.

Exit codes:
  0   the daemon has answered` + statusCodes,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.status(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// statusJSON is what `status --json` prints.
type statusJSON struct {
	*api.Status                // nil: no daemon answers
	Queue       *queue.Waiting `json:"queue,omitempty"` // nil: nothing waits
}

// status also says what waits in the user's queue, which is there without a daemon.
func (c *cli) status(ctx context.Context, asJSON bool) error {
	waiting, err := c.waiting()
	if err != nil {
		return err
	}
	s, err := c.askStatus(ctx)
	if s == nil && waiting == nil {
		return err
	}
	if asJSON {
		return errors.Join(c.printJSON(statusJSON{s, waiting}), err)
	}
	text := ""
	if waiting != nil {
		text = fmt.Sprintf("queue  %s here since %s\n", verb(waiting.Count, "report", "waits", "wait"), instant(waiting.Since))
	}
	if s != nil {
		text += statusText(*s, time.Now())
	}
	return errors.Join(c.print(text), err)
}

// waiting is what waits in the user's queue, nil for nothing. A queue that cannot be
// read is a warning: it says nothing about the daemon.
func (c *cli) waiting() (*queue.Waiting, error) {
	dir, err := queueFolder()
	if err != nil {
		return nil, err
	}
	w, err := queue.New(dir, queue.Options{}).Waiting()
	if err != nil {
		c.tell("warning", err.Error())
	}
	if w.Lost > 0 {
		c.tell("warning", fmt.Sprintf("queue %s is damaged: %s passed over", dir, size(w.Lost)))
	}
	if w.Count == 0 {
		return nil, nil
	}
	return &w, nil
}

// verb is a number of things and what they do.
func verb(n int, thing, one, many string) string {
	if n == 1 {
		return several(n, thing) + " " + one
	}
	return several(n, thing) + " " + many
}

func (c *cli) askStatus(ctx context.Context) (*api.Status, error) {
	s, err := asked(ctx, c, v1.Status)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// statusText is the readable form.
func statusText(s api.Status, now time.Time) string {
	var b strings.Builder
	db := s.Database
	table := newTable(&b)
	fmt.Fprintf(table, "site\t%s\n", db.Site)
	fmt.Fprintf(table, "version\t%s\n", s.Version)
	fmt.Fprintf(table, "federation key\t%s\n", db.KeyID)
	fmt.Fprintf(table, "memory\t%s\n", size(db.Memory))
	fmt.Fprintf(table, "journal\t%s\n", size(db.Journal))
	fmt.Fprintf(table, "false positives\t%.2g is the chance that a mail nobody reported is called spam\n", db.ErrorPerMail)
	if b := db.Burst; b != nil {
		fmt.Fprintf(table, "burst counter\t%s, %.1f %% full\n", time.Duration(b.Window)*time.Second, 100*b.Fill)
	}
	if g := db.Greylist; g != nil {
		fmt.Fprintf(table, "greylist\tdeferred messages of the last %s, %.1f %% full, %s\n", time.Duration(g.Window)*time.Second, 100*g.Fill, size(g.Memory))
	}
	if masked, lost := retouches(db); masked > 0 {
		fmt.Fprintf(table, "retouched\t%d bits masked; they cost up to %.1f reported signatures (estimate)\n", masked, lost)
	}
	if n := db.Never; n.Entries > 0 {
		fmt.Fprintf(table, "never-list\t%s; would have been spam since the start: %s\n", several(n.Entries, "message"), several(n.Spared, "judgement"))
	}
	fmt.Fprintf(table, "reports\t%d kept, of %s\n", s.Reports.Reports, several(s.Reports.Reporters, "reporter"))
	for _, fault := range []string{db.Error, s.Reports.Error} {
		if fault != "" {
			fmt.Fprintf(table, "error\t%s\n", fault)
		}
	}
	if c := db.Clock; c != nil {
		fmt.Fprintf(table, "clock\t%s since %s; not believed before %s, and nothing expires by it\n",
			offClock(c.Ahead), instant(c.Since), instant(c.Believed))
	}
	damaged := db.Damaged
	if db.Previous != nil {
		damaged = append(slices.Clone(damaged), db.Previous.Damaged...)
	}
	for _, f := range damaged {
		fmt.Fprintf(table, "damaged\t%s is not used; missing: %s\n", f.Name, f.Cost)
	}
	exchange, facts := splitFacts(s.Daemon)
	printFacts(table, facts)
	if exchange != nil {
		exchange.lines(table, now)
	}
	table.Flush()

	b.WriteByte('\n')
	table = newTable(&b)
	fmt.Fprintln(table, "FILTER\tGENERATION\tFROM\tFILL\tERROR\tMEMORY")
	for _, f := range db.Filters {
		fmt.Fprintf(table, "%s\t%d\t%s\t%.2f %%\t%.2g\t%s\n", f.Kind, f.Generation,
			instant(f.Start), 100*f.Fill, f.Error, size(f.Memory))
	}
	table.Flush()

	b.WriteByte('\n')
	table = newTable(&b)
	fmt.Fprintln(table, "SITE\tEPOCH\tDELTA\tCELLS\tMISSED")
	for _, site := range db.Sites {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", site.Site, site.Epoch, site.Seq, site.Cells, site.Gaps)
	}
	table.Flush()

	if exchange != nil {
		b.WriteByte('\n')
		exchange.table(&b, now)
	}
	return b.String()
}

// offClock says how far a clock is off.
func offClock(ahead float64) string {
	off := time.Duration(ahead * float64(time.Second)).Round(time.Minute)
	if off < 0 {
		return fmt.Sprintf("%s behind", -off)
	}
	return fmt.Sprintf("%s ahead", off)
}

// retouches sums up the masks of all generations.
func retouches(db bloomdb.Status) (masked int64, lost float64) {
	for _, f := range db.Filters {
		masked += f.Masked
		lost += f.Lost
	}
	return masked, lost
}

// printFacts shows what the daemon's other parts say of themselves, whatever
// that is in its version: one line a fact, nested names joined by blanks.
func printFacts(w io.Writer, facts map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		decoder := json.NewDecoder(bytes.NewReader(facts[name]))
		decoder.UseNumber() // large numbers as they were written
		var fact any
		if decoder.Decode(&fact) == nil {
			printFact(w, name, fact)
		}
	}
}

// inBytes are the facts that are sizes.
var inBytes = []string{"load memory", "load spilled"}

func printFact(w io.Writer, name string, fact any) {
	switch f := fact.(type) {
	case json.Number:
		if n, err := f.Int64(); err == nil && slices.Contains(inBytes, name) {
			fmt.Fprintf(w, "%s\t%s\n", name, size(n))
			return
		}
		fmt.Fprintf(w, "%s\t%s\n", name, f)
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(f)) {
			printFact(w, strings.TrimSpace(name+" "+strings.ReplaceAll(key, "_", " ")), f[key])
		}
	case []any:
		for _, one := range f {
			printFact(w, name, one)
		}
	default:
		fmt.Fprintf(w, "%s\t%v\n", name, f)
	}
}

// size writes bytes with a binary unit.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
