package filter

import (
	"math/bits"
	"sync/atomic"
)

const (
	maxOverflow = 512 // entries a chunk; bounds a Counts filter to three times its base
	valueBits   = 20
)

// overflow is a chunk's table of values above 14, with open addressing. A slot is a 12-bit
// offset and the whole 20-bit value; zero is empty. The writer holds the chunk's lock;
// readers take no lock.
type overflow struct {
	n     int
	slots []uint32
}

func (t *overflow) slot(offset uint32) uint32 {
	return offset * 0x9E3779B1 >> (32 - uint(bits.TrailingZeros(uint(len(t.slots)))))
}

func (t *overflow) get(offset uint32) uint32 {
	for i, mask := t.slot(offset), uint32(len(t.slots)-1); ; i = (i + 1) & mask {
		v := atomic.LoadUint32(&t.slots[i])
		if v == 0 {
			return inPlace // not reached: the entry is written before the code in its cell
		}
		if v>>valueBits == offset {
			return v & MaxValue
		}
	}
}

// replace sets the value of an existing offset.
func (t *overflow) replace(offset, v uint32) bool {
	for i, mask := t.slot(offset), uint32(len(t.slots)-1); t.slots[i] != 0; i = (i + 1) & mask {
		if t.slots[i]>>valueBits == offset {
			atomic.StoreUint32(&t.slots[i], offset<<valueBits|v)
			return true
		}
	}
	return false
}

// insert adds a new offset; a slot must be free.
func (t *overflow) insert(offset, v uint32) {
	i, mask := t.slot(offset), uint32(len(t.slots)-1)
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	atomic.StoreUint32(&t.slots[i], offset<<valueBits|v)
	t.n++
}

// grow copies to a table of twice the size. For a nil table it returns one of 8 slots.
func (t *overflow) grow() *overflow {
	if t == nil {
		return &overflow{slots: make([]uint32, 8)}
	}
	g := &overflow{slots: make([]uint32, 2*len(t.slots))}
	for _, v := range t.slots {
		if v != 0 {
			g.insert(v>>valueBits, v&MaxValue)
		}
	}
	return g
}
