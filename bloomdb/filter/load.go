package filter

import (
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
)

// Load is an estimate of how many keys set a bit, from the filter itself: the v_A of
// Donnet, Baynat, Friedman (2006, section IV), for which no list of the keys is kept.
type Load struct {
	Keys   float64 // expected keys, for a lookup of a key that was never added; at least 1
	Others float64 // expected other keys, for a lookup of a key that was added
}

// LoadAt estimates the load of a set bit in the union of filters with one shape. Nil
// filters are ignored. A clear bit has no load.
//
// Each of the m keys of a line sets one bit in each of its sections. All sections together
// therefore give m: with s bits each, a share p of them set, m = ln(1-p)/ln(1-1/s),
// rounded. In a section with n ones, a set bit has m/n keys. Of two bits of one line, the
// one in the fuller section thus has fewer keys: where n is small by chance, the same keys
// share fewer bits. An added key shares its bit with 2(m-n)/m others, because m-n keys
// found their bit set.
func LoadAt(pos uint64, filters ...*Bits) Load {
	var line [lineWords]uint64
	section := uint64(0)
	for _, b := range filters {
		if b == nil {
			continue
		}
		section = 1 << b.shape.section()
		from := pos / lineBits * lineWords
		for i := range line {
			line[i] |= atomic.LoadUint64(&b.mem.w[from+uint64(i)])
		}
		runtime.KeepAlive(b.mem)
	}
	at := pos % lineBits
	if line[at/64]>>(at%64)&1 == 0 {
		return Load{}
	}
	first := at / section * section
	ones := float64(onesIn(&line, first, first+section))
	fill := float64(onesIn(&line, 0, lineBits)) / lineBits
	keys := math.Round(math.Log1p(-math.Min(fill, 1-0.5/lineBits)) / math.Log1p(-1/float64(section)))
	keys = math.Max(keys, ones)
	return Load{Keys: keys / ones, Others: 2 * (keys - ones) / keys}
}

// onesIn counts the ones in a range of a line's bits.
func onesIn(line *[lineWords]uint64, from, to uint64) int {
	n := 0
	for at := from; at < to; {
		end := min(at/64*64+64, to)
		n += bits.OnesCount64(line[at/64] >> (at % 64) << (64 - (end - at)))
		at = end
	}
	return n
}
