package verdict

import (
	"fmt"
	"io"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/why"
)

// sketchText writes the near-duplicates found by one sketch: the best group of each
// site in each generation.
func sketchText(w io.Writer, t api.SketchTrace) {
	if len(t.Spam)+len(t.Revoked) == 0 {
		fmt.Fprintf(w, "  %s: resembles no reported one\n", why.Kind(t.Kind))
		return
	}
	fmt.Fprintf(w, "  %s: resembles these\n", why.Kind(t.Kind))
	row := func(action string, t api.SketchTrail) {
		period := period(api.Trail{Generation: t.Generation, Start: t.Start})
		fmt.Fprintf(w, "    %s\t%s\t%s\t%s: %s\n", action, t.Site, period, t.ID, why.Likeness(t, action))
	}
	for _, trail := range t.Spam {
		row("reported", trail)
	}
	for _, trail := range t.Revoked {
		row("revoked", trail)
	}
}
