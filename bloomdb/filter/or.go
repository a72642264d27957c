package filter

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
)

// Or adds every key of other, which must have the same shape and the same hash
// key: the bits become the union of both (a join: doing it twice changes
// nothing). Both filters may be read and written meanwhile; a Set of other that
// is still running may be missed.
//
// Each word that gains bits costs a locked operation. A filter nobody else can
// see yet is filled four times as fast by OrExclusive.
func (b *Bits) Or(other *Bits) error {
	if err := b.joins(other); err != nil {
		return err
	}
	b.beginSet()
	fresh := 0
	for i := range other.mem.w {
		add := atomic.LoadUint64(&other.mem.w[i]) &^ atomic.LoadUint64(&b.mem.w[i])
		if add != 0 {
			fresh += bits.OnesCount64(add &^ atomic.OrUint64(&b.mem.w[i], add))
		}
	}
	b.ones.Add(int64(fresh))
	runtime.KeepAlive(b.mem)
	runtime.KeepAlive(other.mem)
	return nil
}

// OrExclusive is Or for a filter that no one else reads or writes until it has
// returned, as when it is being built. The other one may be in use.
func (b *Bits) OrExclusive(other *Bits) error {
	if err := b.joins(other); err != nil {
		return err
	}
	b.beginSet()
	b.ones.Add(int64(orLines(b.mem.w, other.mem.w)))
	runtime.KeepAlive(b.mem)
	runtime.KeepAlive(other.mem)
	return nil
}

// orLines joins equally many lines and says how many bits are new. It is
// unrolled, which Go does not do by itself.
func orLines(dst, src []uint64) (fresh int) {
	for len(dst) >= lineWords && len(src) >= lineWords {
		d, s := (*[lineWords]uint64)(dst), (*[lineWords]uint64)(src)
		fresh += orWord(&d[0], &s[0]) + orWord(&d[1], &s[1]) + orWord(&d[2], &s[2]) + orWord(&d[3], &s[3])
		fresh += orWord(&d[4], &s[4]) + orWord(&d[5], &s[5]) + orWord(&d[6], &s[6]) + orWord(&d[7], &s[7])
		dst, src = dst[lineWords:], src[lineWords:]
	}
	return fresh
}

func orWord(dst, src *uint64) int {
	old, add := *dst, atomic.LoadUint64(src)
	*dst = old | add
	return bits.OnesCount64(add &^ old)
}

// joins refuses filters of different shapes.
func (b *Bits) joins(other *Bits) error {
	if !b.shape.Equal(other.shape) {
		return fmt.Errorf("join filters: here %v, there %v", b.shape, other.shape)
	}
	return nil
}
