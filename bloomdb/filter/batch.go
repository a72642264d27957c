package filter

import (
	"runtime"
	"sync/atomic"
)

// batchKeys is the number of keys looked up at a time: enough to keep a core's 10 to 16
// line fetches busy, and few enough that their lines stay in its first-level cache.
const batchKeys = 16

// HasBatch appends the results of Has for many keys to dst. It fetches the lines of several
// keys at the same time, so that a key costs a fraction of a cache miss. Like Has it takes
// no locks.
func (b *Bits) HasBatch(keys []Hash, dst []bool) []bool {
	if !b.begun.Load() {
		return append(dst, make([]bool, len(keys))...)
	}
	for len(keys) > 1 {
		n := min(len(keys), batchKeys)
		dst = b.hasSome(keys[:n], dst)
		keys = keys[n:]
	}
	if len(keys) == 1 { // nothing to overlap with
		dst = append(dst, b.Has(keys[0]))
	}
	runtime.KeepAlive(b.mem)
	return dst
}

// hasSome looks up at most batchKeys keys. It makes two rounds, one for each half of a key.
// In each round it first touches the lines of all keys, then reads them. The second round
// looks up only the keys found in the first.
func (b *Bits) hasSome(keys []Hash, dst []bool) []bool {
	var lines [batchKeys]uint64
	var left [batchKeys]uint8 // the keys found so far
	for i := range keys {
		lines[i%batchKeys] = Reduce(keys[i][0], b.shape.Lines)
		b.touch(lines[i%batchKeys])
	}
	n := 0
	from := len(dst)
	for i := range keys {
		left[n%batchKeys] = uint8(i)
		n += int(b.probe(lines[i%batchKeys], keys[i][2], 0))
		dst = append(dst, false)
	}
	answers := dst[from:]
	second := 0
	for i, key := range left[:n] {
		h := &keys[key]
		_, lines[i], second = b.shape.lines(h[0], h[1])
		b.touch(lines[i])
	}
	for i, key := range left[:n] {
		answers[key] = b.probe(lines[i], keys[key][3], second) != 0
	}
	return dst
}

// touch starts to fetch a line. The load is atomic so that the compiler keeps it although
// its result is not used.
func (b *Bits) touch(line uint64) { atomic.LoadUint64(&b.mem.w[line*lineWords]) }
