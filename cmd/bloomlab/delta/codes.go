package delta

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/klauspost/compress/zstd"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
)

// codes are other codes of the same bits, in one line. They give the length in bits.
var codes = []struct {
	name string
	note string
	bits func([]filter.Cell) float64
}{
	{"Rice's code of gaps", "the code of a block in a snapshot", func(cells []filter.Cell) float64 {
		return 8 * float64(len(coded.AppendCells(nil, 0, cells, false)))
	}},
	{"gamma code of gaps", "", func(cells []filter.Cell) float64 {
		return sumOfGaps(cells, func(gap uint64) int { return 2*bits.Len64(gap) - 1 })
	}},
	{"varints of gaps", "7 bits of the gap in each byte", func(cells []filter.Cell) float64 {
		return sumOfGaps(cells, func(gap uint64) int { return (bits.Len64(gap) + 6) / 7 * 8 })
	}},
	{"roaring bitmap", "", func(cells []filter.Cell) float64 {
		b := roaring64.New()
		for _, c := range cells {
			b.Add(c.Pos)
		}
		b.RunOptimize()
		return 8 * float64(b.GetSerializedSizeInBytes())
	}},
}

// sumOfGaps adds what each gap takes; a gap is 1 or more.
func sumOfGaps(cells []filter.Cell, length func(gap uint64) int) float64 {
	sum, next := 0, uint64(0)
	for _, c := range cells {
		sum += length(c.Pos - next + 1)
		next = c.Pos + 1
	}
	return float64(sum)
}

// zstdBits is the length of the whole bitmap, compressed at zstd's default level.
func zstdBits(cells []filter.Cell, size uint64) float64 {
	bitmap := make([]byte, (size+7)/8)
	for _, c := range cells {
		bitmap[c.Pos/8] |= 1 << (c.Pos % 8)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constant
	}
	return 8 * float64(len(w.EncodeAll(bitmap, nil)))
}

// sortedDigestBits is the length of n keyed digests of 64 bits, sorted, in Rice's
// code of their gaps.
func sortedDigestBits(r *rand.Rand, n int) float64 {
	digests := make([]uint64, n)
	for i := range digests {
		digests[i] = r.Uint64()
	}
	slices.Sort(digests)
	k := 63 - bits.Len64(uint64(n)) // near log2 of 0.69 times the mean gap
	sum, last := 0, uint64(0)
	for _, d := range digests {
		sum += int((d-last)>>k) + 1 + k
		last = d
	}
	return float64(sum)
}
