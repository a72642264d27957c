package layout_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// A word takes the next rung of its sense; a repeated one takes none, and the last rung is a
// revocation.
func TestNextRung(t *testing.T) {
	for _, c := range []struct {
		top            int
		report, revoke int
		isLeft         bool
	}{
		{top: -1, report: 0, revoke: 1, isLeft: true},
		{top: 0, report: 0, revoke: 1, isLeft: true},
		{top: 1, report: 2, revoke: 1, isLeft: true},
		{top: 2, report: 2, revoke: 3, isLeft: true},
		{top: 12, report: 12, revoke: 13, isLeft: true},
		{top: 13, report: 14, revoke: 13},
	} {
		if rung, ok := layout.NextRung(layout.SpamFilter, c.top, layout.ReporterRungs); rung != c.report || ok != c.isLeft {
			t.Errorf("a report above %d: %d, %v", c.top, rung, ok)
		}
		if rung, ok := layout.NextRung(layout.RevokedFilter, c.top, layout.ReporterRungs); rung != c.revoke || !ok {
			t.Errorf("a revocation above %d: %d, %v", c.top, rung, ok)
		}
	}
}

// Words are in the order of their generations, then of their rungs.
func TestWordOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gens, rungs := rapid.Int64Range(-100, 1<<40), rapid.IntRange(0, layout.Rungs-1)
		gen, rung := gens.Draw(t, "generation"), rungs.Draw(t, "rung")
		otherGen, otherRung := gens.Draw(t, "other generation"), rungs.Draw(t, "other rung")
		w, other := layout.NewWord(gen, rung), layout.NewWord(otherGen, otherRung)
		if w.Gen() != gen || w.Rung() != rung {
			t.Fatalf("word of %d, %d has %d, %d", gen, rung, w.Gen(), w.Rung())
		}
		if isNewer := gen > otherGen || gen == otherGen && rung > otherRung; isNewer != (w > other) {
			t.Fatalf("word of %d, %d and word of %d, %d", gen, rung, otherGen, otherRung)
		}
	})
}
