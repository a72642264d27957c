package bloomdb

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// fits refuses to fill a bit filter so far that its error would grow beyond what
// it was made for. It is also what stops a site that sends all ones.
func (o *settings) fits(what string, s filter.BitsShape, ones int64, t target) error {
	if limit := o.fillLimit(t.kind, s); ones > limit {
		return fmt.Errorf("%s: %w: %d bits set, at most %d", what, ErrFull, ones, limit)
	}
	return nil
}

// fillLimit is the number of ones up to which a bit filter may be filled.
func (o *settings) fillLimit(kind filterKind, s filter.BitsShape) int64 {
	return o.onesOf(kind, s, 1)
}

// onesOf is the number of ones that a share of what a generation is planned for sets.
func (o *settings) onesOf(kind filterKind, s filter.BitsShape, share float64) int64 {
	keys := o.keysPerGeneration()
	switch kind {
	case revokedFilter:
		keys /= revokedShare
	case sketchFilter:
		keys = o.sketchEntriesPerGeneration()
	}
	return max(int64(s.Fill(share*keys)*float64(s.Size())), int64(4*s.K))
}
