package trial

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spambloom/spambloom/cmd/internal/replay"
	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
)

// replayedText formats the results for a terminal.
func replayedText(r replayed) string {
	var b strings.Builder
	table := format.NewTable(&b)
	fmt.Fprintf(table, "messages\t%d\t%s\n", r.Messages, messagesNote(r))
	fmt.Fprintf(table, "spam\t%d\t%d reported%s\n", r.Spam, r.Reported, ifAny(", %d with too little content to report", r.Unreportable))
	fmt.Fprintf(table, "  caught\t%d\t%s\n", r.Caught, percent(r.Caught, r.Spam))
	fmt.Fprintf(table, "  missed\t%d\t%s%s%s\n", r.Missed, percent(r.Missed, r.Spam),
		ifAny(", %d of them bulk", r.BulkSpam), ifAny(", %d with too little content to sign", r.UnsignedSpam))
	fmt.Fprintf(table, "ham\t%d\t%s\n", r.Ham, strings.TrimPrefix(ifAny(", %d bulk", r.BulkHam)+ifAny(", %d with too little content to sign", r.UnsignedHam), ", "))
	fmt.Fprintf(table, "  hit\t%d\t%s\n", r.HamHit, percent(r.HamHit, r.Ham))
	table.Flush() // into b, which cannot fail
	b.WriteString(kindsText(r.Kinds))
	b.WriteString(keysText(r))
	for _, fp := range r.FalsePositives {
		fmt.Fprintf(&b, "\nham hit: %s%s\n", verb.MessageName(fp.File), underKeys(fp.Keys, len(r.Keys)))
		for _, reason := range fp.Reasons {
			fmt.Fprintf(&b, "  %s\n", reasonText(reason))
		}
	}
	if len(r.MissedFiles) > 0 {
		b.WriteString("\n")
	}
	for _, m := range r.MissedFiles {
		fmt.Fprintf(&b, "missed: %s: %s\n", verb.MessageName(m.File), m.Verdict)
	}
	fmt.Fprintf(&b, "\nsigned in %.1f s (%.0f messages/s, %.1f MB/s), judged in %.1f s\n",
		r.SignSeconds, perSecond(r.Messages, r.SignSeconds), perSecond(int(r.Bytes), r.SignSeconds)/1e6, r.JudgeSeconds)
	return b.String()
}

func messagesNote(r replayed) string {
	var notes []string
	if !r.From.IsZero() && r.Order == "time" {
		notes = append(notes, fmt.Sprintf("from %s to %s", r.From.Format("2006-01-02"), r.To.Format("2006-01-02")))
	}
	if r.WithoutTime > 0 {
		notes = append(notes, fmt.Sprintf("%d without a time", r.WithoutTime))
	}
	if r.Unreadable > 0 {
		notes = append(notes, fmt.Sprintf("%d could not be read", r.Unreadable))
	}
	return strings.Join(notes, ", ")
}

// kindsText formats the table of results by kind of signature.
func kindsText(kinds []replay.KindResult) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\n\tkind\tspam caught\tby it alone\tham hit\t\n")
	for _, k := range kinds {
		fmt.Fprintf(table, "\t%s\t%d\t%d\t%d\t\n", k.Kind, k.Caught, k.Alone, k.HamHit)
	}
	table.Flush()
	return b.String()
}

// keysText summarises the results under several keys.
func keysText(r replayed) string {
	if len(r.Keys) < 2 {
		return ""
	}
	caught, hit := make([]int, len(r.Keys)), make([]int, len(r.Keys))
	for i, k := range r.Keys {
		caught[i], hit[i] = k.Caught, k.HamHit
	}
	return fmt.Sprintf("\nunder %d keys: caught %s; ham hit %s\nthe figures above are those of the first key\n",
		len(r.Keys), spread(caught), spread(hit))
}

// spread returns the smallest and largest of several numbers, and their mean.
func spread(numbers []int) string {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return fmt.Sprintf("%d to %d, %.1f on average", slices.Min(numbers), slices.Max(numbers), float64(sum)/float64(len(numbers)))
}

// underKeys returns the number of keys under which ham was hit.
func underKeys(n, of int) string {
	if of < 2 {
		return ""
	}
	return fmt.Sprintf(", under %d of %d keys", n, of)
}

// reasonText returns the reason for a match.
func reasonText(r replay.Reason) string {
	switch {
	case r.Reported == "":
		return fmt.Sprintf("%s: a filter's error; no reported message has it", r.ID)
	case r.Domains > 0:
		return fmt.Sprintf("%s: links to a domain of %s%s", r.ID, verb.MessageName(r.Reported), ifAny(" and %d others", r.Domains-1))
	case r.Likeness > 0:
		corroborated := ""
		if r.Found < r.Need {
			corroborated = ", or fewer with a supporting link"
		}
		return fmt.Sprintf("%s: %d keys found (needs %d%s); %.0f %% of the sketch of %s", r.ID, r.Found, r.Need, corroborated, 100*r.Likeness, verb.MessageName(r.Reported))
	}
	return fmt.Sprintf("%s: equal to that of %s", r.ID, verb.MessageName(r.Reported))
}

// ifAny formats a number, or returns an empty string for 0.
func ifAny(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func perSecond(n int, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}
