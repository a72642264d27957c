package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting"
)

func (c *cli) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show what the daemon knows about itself",
		Long: `status shows how full the daemon's filters are, how often they would call a
message spam that nobody reported, the memory they take, and how far each site
of the federation has been heard.

Exit codes:
  0   the daemon has answered` + statusCodes,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.status(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) status(ctx context.Context, asJSON bool) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	s, err := daemon.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(s)
	}
	return c.print(statusText(s, time.Now()))
}

// statusText is the readable form.
func statusText(s reporting.Status, now time.Time) string {
	var b strings.Builder
	db := s.Database
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "site\t%s\n", db.Site)
	fmt.Fprintf(table, "version\t%s\n", s.Version)
	fmt.Fprintf(table, "federation key\t%s\n", db.KeyID)
	fmt.Fprintf(table, "memory\t%s\n", size(db.Memory))
	fmt.Fprintf(table, "journal\t%s\n", size(db.Journal))
	fmt.Fprintf(table, "false positives\t%.2g is the chance that a mail nobody reported is called spam\n", db.ErrorPerMail)
	if b := db.Burst; b != nil {
		fmt.Fprintf(table, "burst counter\t%s, %.1f %% full\n", time.Duration(b.Window)*time.Second, 100*b.Fill)
	}
	if masked, lost := retouches(db); masked > 0 {
		fmt.Fprintf(table, "retouched\t%d bits masked; they cost up to %.1f reported signatures (estimate)\n", masked, lost)
	}
	if n := db.Never; n.Entries > 0 {
		fmt.Fprintf(table, "never-list\t%s; would have been spam since the start: %s\n", several(n.Entries, "message"), several(n.Spared, "judgement"))
	}
	if db.Error != "" {
		fmt.Fprintf(table, "error\t%s\n", db.Error)
	}
	exchange, facts := splitFacts(s.Daemon)
	printFacts(table, facts)
	if exchange != nil {
		exchange.lines(table, now)
	}
	table.Flush()

	b.WriteByte('\n')
	table = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FILTER\tGENERATION\tFROM\tFILL\tERROR\tMEMORY")
	for _, f := range db.Filters {
		fmt.Fprintf(table, "%s\t%d\t%s\t%.2f %%\t%.2g\t%s\n", f.Kind, f.Generation,
			instant(f.Start), 100*f.Fill, f.Error, size(f.Memory))
	}
	table.Flush()

	b.WriteByte('\n')
	table = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
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

func printFact(w io.Writer, name string, fact any) {
	switch f := fact.(type) {
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
