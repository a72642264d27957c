// Package status is the verbs that show the daemon's state: status, top, web and sites. It owns
// their tables and sentences, and what makes a daemon ready. The daemon computes all figures.
package status

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
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/overview"
)

// detail is how much of the status is printed.
type detail int

const (
	todayOnly   detail = iota // what happened today, and what needs somebody
	withFilters               // also filters and sites
	withAll
)

// Command returns the verb status.
func Command(c *verb.CLI) *cobra.Command {
	var asJSON, filters, all, watch, ready bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show whether mail is judged, what happened today, and what needs you",
		Long: `status shows whether mail is judged and the other sites are heard, what needs an
administrator, and what was judged in the last 24 hours and in the 24 hours before.

--filters adds the load of the filters and the state of the other sites; FALSE MATCH is
the estimated chance that a filter, or the reports of a site, match a signature that
nobody reported. --all also adds everything else that the daemon reports: connections,
memory of messages in flight, spam traps, keys.

--ready prints only whether the daemon does all of its work, for health checks.

The first line is the number of reports in this user's queue, if there are any. It is
printed also if no daemon answers.

Exit codes:
  0   the daemon has answered; with --ready: mail is judged, reports are written, and
      Redis answers if there is one` + verb.StatusCodes + `
With --ready, 75 also means that the daemon is not ready; errors list the reasons.`,
		Example: `  spambloom status
  spambloom status --filters
  spambloom status --watch
  spambloom status --json`,
		Args: verb.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := todayOnly
			switch {
			case all:
				d = withAll
			case filters:
				d = withFilters
			}
			if watch && asJSON {
				return verb.UsageError(errors.New("--watch prints text: it excludes --json"))
			}
			if ready && (asJSON || watch) {
				return verb.UsageError(errors.New("--ready prints one line: it excludes --json and --watch"))
			}
			if ready {
				return showReady(cmd.Context(), c)
			}
			if watch {
				return redraw(cmd.Context(), c, 0, func(ctx context.Context) (string, error) {
					s, err := verb.Asked(ctx, c, v1.Status)
					return statusText(s, time.Now(), d), err
				})
			}
			return status(cmd.Context(), c, asJSON, d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as one JSON object")
	cmd.Flags().BoolVar(&filters, "filters", false, "also show filters and sites")
	cmd.Flags().BoolVar(&all, "all", false, "show everything")
	cmd.Flags().BoolVar(&ready, "ready", false, "print only whether the daemon is ready")
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every two seconds, until Ctrl-C")
	return cmd
}

// statusJSON is what `status --json` prints.
type statusJSON struct {
	*api.Status                // nil: no daemon answers
	Queue       *queue.Waiting `json:"queue,omitempty"` // nil: the queue is empty
}

// status also prints the user's queue, which exists without a daemon.
func status(ctx context.Context, c *verb.CLI, asJSON bool, d detail) error {
	waiting, err := queueLength(c)
	if err != nil {
		return err
	}
	s, err := askStatus(ctx, c)
	if s == nil && waiting == nil {
		return err
	}
	if asJSON {
		return errors.Join(c.PrintJSON(statusJSON{s, waiting}), err)
	}
	text := ""
	if waiting != nil {
		text = fmt.Sprintf("queue  %s queued here since %s\n", format.Plural(waiting.Count, "report"), format.Instant(waiting.Since))
	}
	if s != nil {
		text += statusText(*s, time.Now(), d)
	}
	return errors.Join(c.Print(text), err)
}

// queueLength returns the length of the user's queue, or nil if it is empty. An unreadable
// queue is a warning only: it does not affect the daemon.
func queueLength(c *verb.CLI) (*queue.Waiting, error) {
	dir, err := verb.QueueFolder()
	if err != nil {
		return nil, err
	}
	w, err := queue.New(dir, queue.Options{}).Waiting()
	if err != nil {
		c.Notify("warning", err.Error())
	}
	if w.Lost > 0 {
		c.Notify("warning", fmt.Sprintf("queue %s is damaged: %s skipped", dir, format.Size(w.Lost)))
	}
	if w.Count == 0 {
		return nil, nil
	}
	return &w, nil
}

func askStatus(ctx context.Context, c *verb.CLI) (*api.Status, error) {
	s, err := verb.Asked(ctx, c, v1.Status)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// statusText formats the status for a terminal.
func statusText(s api.Status, now time.Time, d detail) string {
	var b strings.Builder
	if s.Overview == nil {
		d = withAll // an older daemon
	} else {
		b.WriteString(s.Overview.Text(now) + "\n")
	}
	exchange, facts := splitFacts(s.Daemon)
	table := format.NewTable(&b)
	siteLines(table, s, d)
	if d == withAll {
		internalLines(table, s.Database)
		printFacts(table, facts)
	}
	if exchange != nil {
		exchange.lines(table, now)
	}
	table.Flush()
	if d != todayOnly {
		filterTables(&b, s.Database)
		if exchange != nil {
			b.WriteByte('\n')
			exchange.table(&b, now)
		}
	}
	return b.String()
}

// siteLines prints what an administrator asks first.
func siteLines(table io.Writer, s api.Status, d detail) {
	db := s.Database
	fmt.Fprintf(table, "site\t%s\n", db.Site)
	if p := db.Previous; p != nil && db.PreviousUntil != nil {
		fmt.Fprintf(table, "previous key\t%s; remove previous_federation_key after %s\n", p.KeyID, format.Instant(*db.PreviousUntil))
	}
	fmt.Fprintf(table, "version\t%s\n", s.Version)
	if o := s.Overview; o != nil && o.Resident > 0 {
		fmt.Fprintf(table, "memory\t%s of at most %s\n", format.Size(o.Resident), format.Size(o.MostMemory))
	} else {
		fmt.Fprintf(table, "memory\t%s\n", format.Size(db.Memory))
	}
	fmt.Fprintf(table, "false positives\t%s\n", falsePositives(s, d))
	if masked, lost := retouches(db); masked > 0 {
		fmt.Fprintf(table, "retouched\t%s of the spam filters hidden; up to %.1f reported signatures are not found (estimate)\n", format.Plural(masked, "bit"), lost)
	}
	if n := db.Never; n.Entries > 0 {
		fmt.Fprintf(table, "never-list\t%s; %s prevented since the start\n", format.Plural(n.Entries, "message"), format.Plural(n.Spared, "spam verdict"))
	}
	if ignored := ignoredSites(db); len(ignored) > 0 {
		fmt.Fprintf(table, "ignored\t%s: %s; to use its reports again: spambloom mute --undo SITE\n", format.Plural(len(ignored), "site"), strings.Join(ignored, ", "))
	}
	if db.NewSite {
		fmt.Fprintf(table, "new site\t%s\n", newSite)
	}
	fmt.Fprintf(table, "reports\t%d kept, from %s\n", s.Reports.Reports, format.Plural(s.Reports.Reporters, "reporter"))
	for _, fault := range []string{db.Error, s.Reports.Error} {
		if fault != "" {
			fmt.Fprintf(table, "error\t%s\n", fault)
		}
	}
	if c := db.Clock; c != nil {
		fmt.Fprintf(table, "clock\t%s since %s; not trusted before %s, and nothing expires until then\n",
			offClock(c.Ahead), format.Instant(c.Since), format.Instant(c.Believed))
		if c.Expires {
			fmt.Fprintf(table, "\treports made until then expire then; if the clock is right, see \"The clock\" in contrib/state.md\n")
		}
	}
	damaged := db.Damaged
	if db.Previous != nil {
		damaged = append(slices.Clone(damaged), db.Previous.Damaged...)
	}
	for _, f := range damaged {
		fmt.Fprintf(table, "damaged\t%s is not used; missing: %s\n", f.Name, f.Cost)
	}
}

// ignoredSites returns the muted and dropped sites.
func ignoredSites(db bloomdb.Status) (list []string) {
	for _, s := range db.Sites {
		text := s.Site + " (muted)"
		if s.Dropped {
			text = s.Site + " (dropped)"
		}
		if s.Muted && !slices.Contains(list, text) { // a site may have several epochs
			list = append(list, text)
		}
	}
	return list
}

// newSite is what it means that a site is new, and what ends it.
const newSite = "nothing can be common yet, so near matches list mail of proved senders only with nearly all of a report; ends after three weeks of such mail, or with spambloom learn PATH"

// falsePositives puts the error estimate in words, and with all details as a number.
func falsePositives(s api.Status, d detail) string {
	p := s.Database.ErrorPerMail
	text := "estimate: " + overview.OneIn(p) + " is called spam by mistake"
	if p == 0 {
		text = "none: no message is listed"
	}
	if o := s.Overview; o != nil && o.TargetError > 0 {
		text += "; the target is " + overview.OneIn(o.TargetError)
	}
	if d == withAll {
		text += fmt.Sprintf(" (%.2g)", p)
	}
	return text
}

// internalLines prints what matters when something is wrong.
func internalLines(table io.Writer, db bloomdb.Status) {
	fmt.Fprintf(table, "federation key\t%s\n", db.KeyID)
	fmt.Fprintf(table, "filters\t%s\n", format.Size(db.Memory))
	fmt.Fprintf(table, "journal\t%s\n", format.Size(db.Journal))
	if b := db.Burst; b != nil {
		fmt.Fprintf(table, "burst counter\t%s, %.1f %% full\n", time.Duration(b.Window)*time.Second, 100*b.Fill)
	}
	if g := db.Greylist; g != nil {
		fmt.Fprintf(table, "greylist\tdeferred messages of the last %s, %.1f %% full, %s\n", time.Duration(g.Window)*time.Second, 100*g.Fill, format.Size(g.Memory))
	}
}

// filterTables prints the filters, and what is held of each site.
func filterTables(b *strings.Builder, db bloomdb.Status) {
	b.WriteByte('\n')
	table := format.NewTable(b)
	fmt.Fprintln(table, "FILTER\tPERIOD\tFROM\tFILL\tFALSE MATCH\tMEMORY")
	if len(db.Filters) == 0 {
		fmt.Fprintln(table, "none yet: no mail was counted, and no report made a message spam")
	}
	for _, f := range db.Filters {
		fmt.Fprintf(table, "%s\t%d\t%s\t%.2f %%\t%s\t%s\n", f.Kind, f.Generation,
			format.Instant(f.Start), 100*f.Fill, overview.Chance(f.Error), format.Size(f.Memory))
	}
	table.Flush()

	b.WriteByte('\n')
	table = format.NewTable(b)
	fmt.Fprintln(table, "SITE\tEPOCH\tLAST DELTA\tCELLS\tFALSE MATCH\tMISSED DELTAS")
	for _, site := range db.Sites {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%d\n", site.Site, site.Epoch, site.Seq, site.Cells, overview.Chance(site.Error), site.Gaps)
	}
	table.Flush()
}

// offClock describes how far a clock is off.
func offClock(ahead float64) string {
	off := time.Duration(ahead * float64(time.Second)).Round(time.Minute)
	if off < 0 {
		return fmt.Sprintf("%s behind", -off)
	}
	return fmt.Sprintf("%s ahead", off)
}

// retouches returns the sums of the masks of all generations.
func retouches(db bloomdb.Status) (masked int64, lost float64) {
	for _, f := range db.Filters {
		masked += f.Masked
		lost += f.Lost
	}
	return masked, lost
}

// printFacts prints the status of the daemon's other parts, whatever its version
// reports: one line per fact, with nested names joined by blanks.
func printFacts(w io.Writer, facts map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		decoder := json.NewDecoder(bytes.NewReader(facts[name]))
		decoder.UseNumber() // keep large numbers exact
		var fact any
		if decoder.Decode(&fact) == nil {
			printFact(w, name, fact)
		}
	}
}

// inBytes lists the facts that are sizes in bytes.
var inBytes = []string{"load memory", "load spilled"}

func printFact(w io.Writer, name string, fact any) {
	switch f := fact.(type) {
	case json.Number:
		if n, err := f.Int64(); err == nil && slices.Contains(inBytes, name) {
			fmt.Fprintf(w, "%s\t%s\n", name, format.Size(n))
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
