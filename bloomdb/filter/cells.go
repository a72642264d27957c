package filter

import "errors"

// ErrNewer is wrapped by errors for data in a format newer than this program.
var ErrNewer = errors.New("made by a newer version of spambloom")

// Cell is one non-zero cell of a filter: its position and its absolute value, which is 1
// for a bit.
type Cell struct {
	Pos   uint64
	Value uint32
}

// Cells are coded in blocks. A block is small enough to be decoded in some microseconds
// when it is a tenth full (tens of them when it is full), and large enough to make its
// overhead negligible. A block of counts is a chunk of the split store. A block of bits is
// eight times as long, because it is decoded only for hits.
const (
	countBlock = 1 << 12
	bitBlock   = 1 << 15
)

// BlockSize returns the number of cells of a block, of counts or of bits.
func BlockSize(counts bool) uint64 {
	if counts {
		return countBlock
	}
	return bitBlock
}

// MaxValue is the largest count of a cell. Larger counts are stored as MaxValue.
const MaxValue = 1<<20 - 1

// Blocks returns the number of blocks of a filter of size cells.
func Blocks(size uint64, counts bool) uint64 {
	return (size + BlockSize(counts) - 1) / BlockSize(counts)
}
