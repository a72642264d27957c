package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/cmd/spambloom/batch"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/why"
	"github.com/spambloom/spambloom/signature"
)

// explained is what `explain --json` prints for a message.
type explained struct {
	checked
	Spared     string            `json:"spared,omitempty"`
	NewSite    bool              `json:"new_site,omitempty"`
	Backing    *api.Backing      `json:"backing,omitempty"`
	Unheard    []api.Site        `json:"unheard,omitempty"`
	Signatures []api.Trace       `json:"signatures,omitempty"`
	Sketches   []api.SketchTrace `json:"sketches,omitempty"`
	Domains    []api.DomainTrace `json:"domains,omitempty"`
	Limits     []string          `json:"limits,omitempty"`
}

// explanation is the daemon's answer and the limits reached while the message was
// signed here.
type explanation struct {
	api.Explanation
	limits []string
}

// ExplainCommand returns the verb explain.
func ExplainCommand(c *verb.CLI) *cobra.Command {
	var asJSON, ask, withText bool
	cmd := &cobra.Command{
		Use:   "explain [FILE... | ID...]",
		Short: "explain why a message has its verdict, or why two match",
		Long: `explain shows why a message has its verdict, or whether and why two messages match.

For each message it asks the daemon for the verdict and the evidence: the signatures
that were reported or revoked, by which site and in which period (reports.period and
bulk.period; the oldest one expires), and how often each site has seen the message. Under the
verdict it names the weight that is missing for another one, and the sites whose latest
reports may be missing here.

Given exactly two files, it compares them without a daemon: would a report of one list
the other, in both directions, and why? It shows the signatures that both have, the
part of the reported sketch found in the other, the share of common text (in runs of
three words), and the domains that both link to. Each file must be one message. With
--ask it asks the daemon about each instead. A federation's key selects the features
of a sketch; explain tries 32 other keys and shows the median result.

With --json, one object for two files: files, matches, text (jaccard, a_in_b, b_in_a),
domains, reported (file, lists, listed, because, signatures, sketches: kind, found,
of, need, matches, weak, tried, contained), and texts with --text.

Given an ID, it shows what filters, reports and recently judged mail contain about that
message, and which facts need the message itself.
` + batch.IDsHelp + `

Exit codes:
  0   the daemon has answered, whatever the verdict` + verb.QuestionCodes,
		Example: `  spambloom explain message.eml
  spambloom explain reported.eml missed.eml
  spambloom explain text:26409118f620fc3f`,
		RunE: func(cmd *cobra.Command, names []string) error {
			ids, err := batch.IDsOf(names)
			switch {
			case err != nil:
				return err
			case len(ids) > 0:
				return explainIDs(cmd.Context(), c, names, ids, asJSON)
			}
			if len(names) == 2 && !ask {
				return compareFiles(c, names, asJSON, withText)
			}
			if withText {
				return verb.UsageError(errors.New("--text is for two files; for one file use spambloom sign -v"))
			}
			return explain(cmd.Context(), c, names, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line: the fields of check, and backing, unheard, signatures, sketches, domains, limits")
	cmd.Flags().BoolVar(&ask, "ask", false, "given two files: ask the daemon about each, instead of comparing them")
	cmd.Flags().BoolVar(&withText, "text", false, "given two files: print their normalised texts")
	return cmd
}

func explain(ctx context.Context, c *verb.CLI, names []string, asJSON bool) error {
	daemon, err := c.Dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	ask := func(ctx context.Context, m signature.Message) (explanation, error) {
		set := signature.Compute(m)
		x, err := client.Post(ctx, daemon, v1.Explain, api.SenderRequest{Request: api.NewRequest(set), From: replay.FromOf(m)})
		return explanation{x, set.Limits.Names()}, err
	}
	return batch.Process(ctx, c, "explained", batch.Inputs(c, names), ask, func(r batch.Result[explanation]) error {
		x := r.Answer
		if asJSON {
			return c.PrintJSON(explained{newChecked(r.Name, x.Answer, r.Err), x.Spared, x.NewSite, x.Backing, x.Unheard, x.Signatures, x.Sketches, x.Domains, x.limits})
		}
		if r.Err != nil {
			return nil
		}
		return c.Print(explanationText(r.Name, r.Answer))
	})
}

// explanationText formats an explanation for a terminal.
func explanationText(name verb.MessageName, x explanation) string {
	var b strings.Builder
	b.WriteString(verdictLine(name, x.Answer))
	if weight := why.Weight(&x.Explanation); weight != "" {
		fmt.Fprintf(&b, "  %s\n", weight)
	}
	for _, missing := range why.Missing(&x.Explanation) {
		fmt.Fprintf(&b, "  caution: %s\n", missing)
	}
	switch {
	case x.NewSite:
		fmt.Fprintf(&b, "  would be spared if the verifier proved that it is from %s: this site is new, and near matches that have less than nearly all of a report list this\n", x.Spared)
	case x.Spared != "":
		fmt.Fprintf(&b, "  would be spared if the verifier proved that it is from %s: this site knows mail of the domain, and only near matches list this\n", x.Spared)
	}
	table := format.NewTable(&b)
	for _, t := range x.Signatures {
		fmt.Fprintf(table, "  %s: %s\n", t.ID, why.Standing(&x.Explanation, t))
		for _, trail := range t.Spam {
			fmt.Fprintf(table, "    reported\t%s\t%s%s\n", trail.Site, period(trail), asClasses(trail.Classes)+asRetouched(trail))
		}
		for _, trail := range t.Revoked {
			fmt.Fprintf(table, "    revoked\t%s\t%s\n", trail.Site, period(trail))
		}
		for _, c := range t.Contested {
			fmt.Fprintf(table, "    changed\teverywhere\t%s\t%s\n", period(api.Trail{Generation: c.Generation, Start: c.Start}), turns(c))
		}
		for _, vote := range t.Votes {
			fmt.Fprintf(table, "    voted\t%s\t%s\n", vote.Site, voted(vote))
		}
		for _, trail := range t.Counts {
			fmt.Fprintf(table, "    counted\t%s\t%s\t%s\n", trail.Site, period(trail), times(trail.Count))
		}
		if t.Burst != nil {
			fmt.Fprintf(table, "    counted\there\t%s\n", burstText(*t.Burst))
		}
	}
	for _, t := range x.Sketches {
		sketchText(table, t)
	}
	for _, d := range x.Domains {
		fmt.Fprintf(table, "  link to %s: %s\n", d.Domain, why.Domain(&x.Explanation, d))
		if len(d.Reported) > 0 {
			fmt.Fprintf(table, "    reported\t%s\n", strings.Join(d.Reported, ", "))
		}
	}
	for _, limit := range x.limits {
		fmt.Fprintf(table, "  only part of the message was used (limit: %s)\n", limit)
	}
	table.Flush() // into b, which cannot fail
	return b.String()
}

// turns describes the reports and revocations of one generation in turn.
func turns(c api.ContestedTrail) string {
	words := []string{"reported", "revoked", "reported again", "revoked again"}[:min(c.Changes, 4)]
	switch last := map[string]string{"report": "reported again", "revoke": "revoked again"}[c.Last]; {
	case c.Changes == 5:
		words = append(words, last)
	case c.Changes > 5:
		words = append(words, "...", last)
	}
	return fmt.Sprintf("%s: %s in this period", strings.Join(words, ", "), format.Plural(c.Changes, "change"))
}

// voted returns the time of a site's vote.
func voted(v api.Vote) string {
	text := "published " + v.Made.Format(time.DateTime)
	if v.Stale {
		text += ", stale"
	}
	return text
}

// asClasses names the classes of a site's reports; the first one is decisive.
func asClasses(classes []bloomdb.Class) string {
	if len(classes) == 0 {
		return ""
	}
	names := make([]string, len(classes))
	for i, c := range classes {
		names[i] = c.String()
	}
	return "\tas " + strings.Join(names, ", ")
}

// asRetouched marks a report that a masked bit hides.
func asRetouched(t api.Trail) string {
	if t.Retouched {
		return "\thidden by a retouch"
	}
	return ""
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// burstText describes how often this site saw a message in the last minutes. The
// text marks estimates and lower bounds.
func burstText(b api.Burst) string {
	text := "not seen"
	switch {
	case b.AtLeast:
		text = fmt.Sprintf("%d times or more", b.Count)
	case b.Count > 0:
		text = "about " + times(b.Count)
	}
	if b.Missed {
		text += ", some uncounted because the counter was full"
	}
	return fmt.Sprintf("in the last %s\t%s", (time.Duration(b.Seconds) * time.Second), text)
}

func period(t api.Trail) string {
	return fmt.Sprintf("period %d, from %s", t.Generation, format.Instant(t.Start))
}
