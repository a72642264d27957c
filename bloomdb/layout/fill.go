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
	keys := o.KeysPerGeneration()
	switch kind {
	case RevokedFilter:
		keys /= RevokedShare
	case LadderFilter:
		keys = o.RungsPerGeneration()
	case SketchFilter:
		keys = o.SketchEntriesPerGeneration()
	}
	return max(int64(s.Fill(share*keys)*float64(s.Size())), int64(4*s.K))
}
