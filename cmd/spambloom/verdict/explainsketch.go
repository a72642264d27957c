package verdict

import (
	"fmt"
	"io"

	"github.com/spambloom/spambloom/cmd/spambloom/format"
	"github.com/spambloom/spambloom/reporting/api"
)

// sketchText writes the near-duplicates found by one sketch: the best group of each
// site in each generation.
func sketchText(w io.Writer, t api.SketchTrace) {
	if len(t.Spam)+len(t.Revoked) == 0 {
		fmt.Fprintf(w, "  %s resembles no reported one\n", t.Kind)
		return
	}
	fmt.Fprintf(w, "  %s resembles these:\n", t.Kind)
	for _, trail := range t.Spam {
		fmt.Fprintf(w, "    reported\t%s\t%s\t%s\n", trail.Site, sketchPeriod(trail), likeness(trail))
	}
	for _, trail := range t.Revoked {
		fmt.Fprintf(w, "    revoked\t%s\t%s\t%s\n", trail.Site, sketchPeriod(trail), likeness(trail))
	}
}

func sketchPeriod(t api.SketchTrail) string {
	return fmt.Sprintf("generation %d, from %s", t.Generation, format.Instant(t.Start))
}

// witnesses describes what joins the structure of a page in a match, by its name.
var witnesses = map[string]string{
	"two-senders":   "the same page, reported under two senders' domains",
	"three-senders": "a page of the same outline, reported under three senders' domains",
	"words":         "a page of nearly the same structure, with some of its words, links or pictures",
}

// likeness describes how many keys were found, and whether they suffice.
func likeness(t api.SketchTrail) string {
	enough := "too few"
	switch {
	case t.Found >= t.Need:
		enough = "matches"
	case t.Found >= t.Weak:
		enough = "too few without other evidence"
	}
	if t.Common > 0 {
		enough += fmt.Sprintf("; %d more are in mail of many senders, so they are no evidence here", t.Common)
	}
	if t.By != "" {
		return fmt.Sprintf("%s: %s: %d of %d marks found, %d needed: %s", t.ID, witnesses[t.By], t.Found, t.Keys, t.Need, enough)
	}
	return fmt.Sprintf("%s: %d of %d keys found, %d needed: %s", t.ID, t.Found, t.Keys, t.Need, enough)
}
