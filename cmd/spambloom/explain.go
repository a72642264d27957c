package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// explained is what `explain --json` prints for a message.
type explained struct {
	checked
	Signatures []api.Trace       `json:"signatures,omitempty"`
	Sketches   []api.SketchTrace `json:"sketches,omitempty"`
	Domains    []api.DomainTrace `json:"domains,omitempty"`
	Limits     []string          `json:"limits,omitempty"`
}

// explanation is the daemon's, and what it does not know: the limits that bit while
// the message was signed here.
type explanation struct {
	api.Explanation
	limits []string
}

func (c *cli) explainCommand() *cobra.Command {
	var asJSON, ask, withText bool
	cmd := &cobra.Command{
		Use:   "explain [FILE...]",
		Short: "say why a message has its verdict, or why two match",
		Long: `explain asks the daemon for the verdict on each message and for all that speaks
for or against it: which signature was reported or revoked, by which site and in
which generation (a period of time; what ages out of the last one is forgotten),
and how often each site has seen the message.

Of exactly two files it says whether a report of the one would list the other, both
ways, and why: the signatures that both have, what of the reported sketch the other
has, how much of their texts is the same (in runs of three words), and the domains
that both link to. Each must be one message; no daemon is asked, but with --ask it
is asked about each. A federation's key decides which features a sketch is made of:
32 other keys are tried, and the middle result is shown.

With --json, one object of two files: files, matches, text (jaccard, a_in_b, b_in_a),
domains, reported (file, lists, listed, because, signatures, sketches: kind, found,
of, need, matches, weak, tried, contained), and texts with --text.

Exit codes:
  0   the daemon has answered, whatever the verdict` + questionCodes,
		Example: `  spambloom explain message.eml
  spambloom explain reported.eml missed.eml`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 2 && !ask {
				return c.compareFiles(names, asJSON, withText)
			}
			if withText {
				return &usageError{errors.New("--text is for two files; spambloom sign -v has it of one")}
			}
			return c.explain(cmd.Context(), names, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line: those of check, and signatures, sketches, domains, limits")
	cmd.Flags().BoolVar(&ask, "ask", false, "ask the daemon about each of two files, too")
	cmd.Flags().BoolVar(&withText, "text", false, "of two files: print their normalised texts")
	return cmd
}

func (c *cli) explain(ctx context.Context, names []string, asJSON bool) error {
	daemon, err := c.dial()
	if err != nil {
		return err
	}
	defer daemon.Close()
	ask := func(ctx context.Context, m signature.Message) (explanation, error) {
		set := signature.Compute(m)
		x, err := client.Post(ctx, daemon, v1.Explain, api.NewRequest(set))
		return explanation{x, set.Limits.Names()}, err
	}
	return process(ctx, c, "explained", c.inputs(names), ask, func(r result[explanation]) error {
		x := r.answer
		if asJSON {
			return c.printJSON(explained{newChecked(r.name, x.Answer, r.err), x.Signatures, x.Sketches, x.Domains, x.limits})
		}
		if r.err != nil {
			return nil
		}
		return c.print(explanationText(r.name, r.answer))
	})
}

// explanationText is the readable form.
func explanationText(name string, x explanation) string {
	var b strings.Builder
	b.WriteString(verdictLine(name, x.Answer))
	table := newTable(&b)
	for _, t := range x.Signatures {
		fmt.Fprintf(table, "  %s %s\n", t.ID, standing(t))
		for _, trail := range t.Spam {
			fmt.Fprintf(table, "    reported\t%s\t%s%s\n", trail.Site, period(trail), asClasses(trail.Classes)+asRetouched(trail))
		}
		for _, trail := range t.Revoked {
			fmt.Fprintf(table, "    revoked\t%s\t%s\n", trail.Site, period(trail))
		}
		for _, vote := range t.Votes {
			fmt.Fprintf(table, "    voted\t%s\t%s\n", vote.Site, voted(vote))
		}
		for _, trail := range t.Counts {
			fmt.Fprintf(table, "    counted\t%s\t%s\t%s\n", trail.Site, period(trail), times(trail.Count))
		}
		if t.Burst != nil {
			fmt.Fprintf(table, "    counted\there\t%s\n", lately(*t.Burst))
		}
	}
	for _, t := range x.Sketches {
		sketchText(table, t)
	}
	for _, d := range x.Domains {
		fmt.Fprintf(table, "  links to %s, %s\n", d.Domain, domainStanding(d))
	}
	for _, limit := range x.limits {
		fmt.Fprintf(table, "  part of it does not count, by the limit %s\n", limit)
	}
	table.Flush() // into b, which cannot fail
	return b.String()
}

// voted says of when a site's vote is.
func voted(v api.Vote) string {
	text := "published " + v.Made.Format(time.DateTime)
	if v.Stale {
		text += ", too long ago to count"
	}
	return text
}

// standing says what became of a signature. Trails stand newest first: a report
// that is newer than all revocations is not listed only where a retouch hides it.
func standing(t api.Trace) string {
	switch {
	case t.Listed:
		return "is listed as spam"
	case t.Never:
		return "was reported, but is on the never-list"
	case len(t.Spam) > 0 && len(t.Revoked) > 0 && t.Revoked[0].Generation >= t.Spam[0].Generation:
		return "was reported and revoked"
	case len(t.Spam) > 0:
		return "was reported, and is hidden by a retouch"
	}
	return "is not listed"
}

// domainStanding says what a link's domain says against a message.
func domainStanding(d api.DomainTrace) string {
	switch {
	case d.Ignored:
		return "which says nothing: it is well-known, or on never_alone"
	case d.Alone:
		return fmt.Sprintf("which is spam's alone: %s, %s", several(d.Campaigns, "campaign"), several(d.Sightings, "other sighting"))
	case len(d.Reported) > 0:
		return fmt.Sprintf("which was reported by %s: %s here, %s", strings.Join(d.Reported, ", "), several(d.Campaigns, "campaign"), several(d.Sightings, "other sighting"))
	}
	return fmt.Sprintf("which was not reported: %s here", several(d.Sightings, "sighting"))
}

// asClasses names the classes of a site's reports, the one that counts first.
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

// several is a number of things.
func several[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lately says how often this site saw a message in the last minutes. Few
// sightings, and estimates, are said as what they are.
func lately(b api.Burst) string {
	text := "not"
	switch {
	case b.AtLeast:
		text = fmt.Sprintf("%d times or more", b.Count)
	case b.Count > 0:
		text = "about " + times(b.Count)
	}
	if b.Missed {
		text += ", without those that came when there was no room for more"
	}
	return fmt.Sprintf("in the last %s\t%s", (time.Duration(b.Seconds) * time.Second), text)
}

func period(t api.Trail) string {
	return fmt.Sprintf("generation %d, from %s", t.Generation, instant(t.Start))
}
