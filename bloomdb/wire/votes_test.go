package wire

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Both codings preserve the filter, at the border between them and beyond it.
func TestVotesCodings(t *testing.T) {
	for _, ones := range []uint64{0, maxVotesCells, maxVotesCells + 1} {
		cells := make([]filter.Cell, ones)
		for i := range cells {
			cells[i] = filter.Cell{Pos: uint64(i) * (VotesShape.M / ones), Value: 1}
		}
		f, err := generalized.Of(VotesShape, cells, 0)
		testenv.Check(t, err)
		data := AppendVotes(nil, VotesBody{2930, 604800, f})
		v, err := DecodeVotes(data)
		if err != nil || f.Ones() != ones || v.Filter.Ones() != ones || !slices.Equal(v.Filter.Cells(nil), f.Cells(nil)) {
			t.Errorf("%d ones, %d bytes: %v", ones, len(data), err)
		}
		if want := byte(votesAsCells); len(data) > maxVotesBody || ones <= maxVotesCells && data[36] != want {
			t.Errorf("%d ones: %d bytes in coding %d", ones, len(data), data[36])
		}
	}
}
