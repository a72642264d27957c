package journal

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// A number far ahead, or without room in a place of the journal, is not believed.
func TestStrays(t *testing.T) {
	const room = folder.MaxSegmentNumber
	for name, c := range map[string]struct {
		present, listed []uint32
		known           uint32
		want            []uint32
	}{
		"new":                         {},
		"without a gap":               {present: []uint32{4, 5}, listed: []uint32{4, 5}, known: 4},
		"not listed yet":              {present: []uint32{4, 5, 6}, listed: []uint32{4, 5}, known: 4},
		"after many failed starts":    {present: []uint32{5, 5 + maxSegments}, listed: []uint32{5}},
		"far ahead":                   {present: []uint32{5, 6 + maxSegments}, listed: []uint32{5}, want: []uint32{6 + maxSegments}},
		"alone, far ahead of a list":  {present: []uint32{100_005}, listed: []uint32{5}, want: []uint32{100_005}},
		"without list":                {present: []uint32{4, 100_005}, known: 4, want: []uint32{100_005}},
		"without list, old identity":  {present: []uint32{100_005, 100_006}, known: 4},
		"without list and identity":   {present: []uint32{4, 5, 100_005}, want: []uint32{100_005}},
		"the last with room":          {present: []uint32{room}, listed: []uint32{room}},
		"without room, though listed": {present: []uint32{5, room + 1}, listed: []uint32{5, room + 1}, want: []uint32{room + 1}},
		"without room, alone":         {present: []uint32{room + 1}, want: []uint32{room + 1}},
	} {
		sizes := func(list []uint32) map[uint32]int64 {
			m := make(map[uint32]int64)
			for _, n := range list {
				m[n] = Header
			}
			return m
		}
		if got := Strays(sizes(c.present), sizes(c.listed), c.known); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, want := range map[string]bool{"journal-00000005": true, "journal-100000000": true, "journal-5": false, "00000005": false, "journal-00000005.damaged": false} {
		if _, ok := ParseSegment(name); ok != want {
			t.Errorf("%s is a segment: %v", name, ok)
		}
	}
}
