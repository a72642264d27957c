package snapshot_test

import (
	"io"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A member claims the largest shape for a few counts: of its 4,194,304 blocks, those with counts are
// read.
func TestWriteReadsNoEmptyBlock(t *testing.T) {
	shape := filter.CountsShape{Lines: filter.MaxLines}
	part := coded.NewPart(shape.Size(), true)
	cells := []filter.Cell{{Pos: 1, Value: 3}, {Pos: shape.Size() / 2, Value: 1}, {Pos: shape.Size() - 1, Value: 2}}
	testenv.Check(t, part.Merge(cells))
	read := 0
	sec := snapshot.Section{Target: layout.Target{Kind: layout.CountFilter, Gen: 5}, Period: 1, Shape: layout.CountsShape(shape), Next: part.Next}
	sec.Block = func(i uint64, dst []filter.Cell) []filter.Cell {
		read++
		return part.Block(i, dst)
	}
	testenv.Check(t, snapshot.File{Sections: []snapshot.Section{sec}}.Encode(io.Discard, [8]byte{}))
	if read != len(cells) {
		t.Errorf("%d blocks were read, want %d", read, len(cells))
	}
}
