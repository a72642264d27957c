package overview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/reporting/figures"
)

// Text prints the overview for a terminal.
func (o *Overview) Text(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", o.Sentence)
	for _, n := range o.Needs {
		fmt.Fprintf(&b, "- %s\n", n.Text)
		if n.Command != "" {
			fmt.Fprintf(&b, "    %s\n", n.Command)
		}
	}
	b.WriteByte('\n')
	o.dayTable(&b)
	fmt.Fprintf(&b, "\nup since %s, %s\n", o.Started.UTC().Format("2006-01-02 15:04 UTC"), Ago(o.Started, now))
	return b.String()
}

const rowForm = "%-44s %13s %13s\n"

// dayTable prints the last 24 hours beside the 24 hours before. Counters that are zero in
// both are left out, but for those of mail.
func (o *Overview) dayTable(w io.Writer) {
	row := func(words string, now, before uint64) {
		fmt.Fprintf(w, rowForm, words, Thousands(now), Thousands(before))
	}
	kept := func(indent string, keys ...string) {
		for _, key := range keys {
			if now, before := o.LastDay[key], o.DayBefore[key]; now+before > 0 || key == figures.Spam {
				row(indent+wordsOf(key), now, before)
			}
		}
	}
	fmt.Fprintf(w, rowForm, "", "last 24 hours", "day before")
	row("mail judged", figures.Judged(o.LastDay), figures.Judged(o.DayBefore))
	kept("  ", figures.Spam)
	kept("    ", append([]string{figures.SpamOthers}, o.each(figures.FromSite)...)...)
	kept("  ", figures.Bulk, figures.Clean)
	row("mail not judged", figures.NotJudged(o.LastDay), figures.NotJudged(o.DayBefore))
	kept("  ", figures.Allowed)
	var rest []string
	for _, c := range figures.Kept {
		if strings.HasPrefix(c.Key, figures.Skipped+"_") {
			rest = append(rest, c.Key)
		}
	}
	kept("  ", append(rest, figures.Failed)...)
	kept("", figures.Reports, figures.Revoked, figures.Refused)
	kept("  ", o.each(figures.RefusedFor)...)
	kept("", figures.Listed)
}

// each returns the keys of a counter that has one for each value of a label, the largest first.
func (o *Overview) each(base string) []string {
	all := maps.Clone(o.DayBefore)
	if all == nil {
		all = make(map[string]uint64)
	}
	maps.Copy(all, o.LastDay)
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool {
		return !strings.HasPrefix(key, base+":")
	})
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(o.LastDay[b], o.LastDay[a]) })
	return keys
}

// wordsOf returns the words for a counter.
func wordsOf(key string) string {
	words, of := figures.Words(key)
	switch {
	case of == "":
		return words
	case strings.HasPrefix(key, figures.RefusedFor):
		return cmp.Or(figures.Reasons[of], of)
	}
	return "by " + of
}
