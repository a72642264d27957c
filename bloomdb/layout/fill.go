package layout

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Fits refuses to fill a bit filter so far that its error would grow beyond what
// it was made for. It is also what stops a site that sends all ones.
func (o *Settings) Fits(what string, s filter.BitsShape, ones int64, t Target) error {
	if limit := o.FillLimit(t.Kind, s); ones > limit {
		return fmt.Errorf("%s: %w: %d bits set, at most %d", what, ErrFull, ones, limit)
	}
	return nil
}

// FillLimit is the number of ones up to which a bit filter may be filled.
func (o *Settings) FillLimit(kind Kind, s filter.BitsShape) int64 {
	return o.OnesOf(kind, s, 1)
}

// OnesOf is the number of ones that a share of what a generation is planned for sets.
func (o *Settings) OnesOf(kind Kind, s filter.BitsShape, share float64) int64 {
	keys := o.KeysPerGeneration()
	switch kind {
	case RevokedFilter:
		keys /= RevokedShare
	case SketchFilter:
		keys = o.SketchEntriesPerGeneration()
	}
	return max(int64(s.Fill(share*keys)*float64(s.Size())), int64(4*s.K))
}
