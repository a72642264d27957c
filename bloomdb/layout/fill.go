package layout

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Fits returns ErrFull if a bit filter would have more ones than it was sized for. This
// keeps its error within the plan, and stops a site that sends all ones.
func (o *Settings) Fits(what string, s filter.BitsShape, ones int64, t Target) error {
	if limit := o.FillLimit(t.Kind, s); ones > limit {
		return fmt.Errorf("%s: %w: %d bits set, at most %d", what, ErrFull, ones, limit)
	}
	return nil
}

// FillLimit returns the largest number of ones that a bit filter may have.
func (o *Settings) FillLimit(kind Kind, s filter.BitsShape) int64 {
	return o.OnesOf(kind, s, 1)
}

// OnesOf returns the number of ones set by a share of a generation's planned keys.
func (o *Settings) OnesOf(kind Kind, s filter.BitsShape, share float64) int64 {
	return max(int64(s.Fill(share*o.planned(kind))*float64(s.Size())), int64(leastKeys*s.K))
}

// MostInLine returns the number of ones that these keys set at most in one line of a filter.
func (o *Settings) MostInLine(kind Kind, s filter.BitsShape, share float64) int {
	return s.MostInLine(max(share*o.planned(kind), leastKeys))
}

// leastKeys is the number of keys that any share has room for.
const leastKeys = 4

// planned returns the number of keys that a generation has room for.
func (o *Settings) planned(kind Kind) float64 {
	keys := o.KeysPerGeneration()
	switch kind {
	case RevokedFilter:
		keys /= RevokedShare
	case LadderFilter:
		keys = o.RungsPerGeneration()
	case SketchFilter:
		keys = o.SketchEntriesPerGeneration()
	}
	return keys
}
