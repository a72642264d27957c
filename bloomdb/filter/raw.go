package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"
)

// rawValue is the length of a value above 14 after a raw block of counts, in bytes.
const rawValue = 3

var errRaw = errors.New("raw block has a wrong length")

// RawCells checks a raw block of that many cells, of counts or of bits, and returns how
// many of them are not zero. FORMAT.md has the layout.
func RawCells(code []byte, cells uint64, values bool) (used int, err error) {
	if !values {
		if uint64(len(code)) != cells/8 {
			return 0, errRaw
		}
		for ; len(code) > 0; code = code[8:] {
			used += bits.OnesCount64(binary.LittleEndian.Uint64(code))
		}
		return used, nil
	}
	base := int(cells / 2)
	if len(code) < base {
		return 0, errRaw
	}
	above := code[base:]
	for at := 0; at < base; at += 8 {
		w := binary.LittleEndian.Uint64(code[at:])
		used += bits.OnesCount64(someBit(w))
		for range bits.OnesCount64(allBits(w)) {
			if len(above) < rawValue {
				return 0, errRaw
			}
			if v := rawAbove(above); v <= inPlace || v > MaxValue {
				return 0, fmt.Errorf("raw block has a value of %d, must be %d to %d", v, escape, MaxValue)
			}
			above = above[rawValue:]
		}
	}
	if len(above) > 0 {
		return 0, errRaw
	}
	return used, nil
}

// someBit returns the lowest bit of each non-zero nibble of w, allBits of each nibble that
// is 15.
func someBit(w uint64) uint64 {
	w |= w >> 2
	return (w | w>>1) & 0x1111111111111111
}

func allBits(w uint64) uint64 {
	w &= w >> 2
	return w & (w >> 1) & 0x1111111111111111
}

func rawAbove(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// AppendRaw appends block i as a raw block, and returns how many of its cells are not zero.
// Bits may be set meanwhile.
func (b *Bits) AppendRaw(i uint64, dst []byte) (raw []byte, used int) {
	defer runtime.KeepAlive(b.mem)
	from := i * bitBlock
	for pos := from; pos < min(from+bitBlock, b.shape.Size()); pos += 64 {
		w := atomic.LoadUint64(&b.mem.w[pos>>6])
		used += bits.OnesCount64(w)
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst, used
}

// OrRaw joins a raw block that RawCells accepted for block i. Bits may be read and set
// meanwhile.
func (b *Bits) OrRaw(i uint64, code []byte) {
	defer runtime.KeepAlive(b.mem)
	b.beginSet()
	fresh := int64(0)
	for word := i * bitBlock / 64; len(code) > 0; word, code = word+1, code[8:] {
		if w := binary.LittleEndian.Uint64(code); w != 0 {
			fresh += int64(bits.OnesCount64(w &^ atomic.OrUint64(&b.mem.w[word], w)))
		}
	}
	b.ones.Add(fresh)
}

// AppendRaw appends block i as a raw block, as of one moment, and returns how many of its
// cells are not zero.
func (c *Counts) AppendRaw(i uint64, dst []byte) (raw []byte, used int) {
	from := i * countBlock
	mu := c.lock(from)
	defer mu.Unlock()
	defer runtime.KeepAlive(c.mem)
	first, end := from/wordCells, min(from+countBlock, c.shape.Size())/wordCells
	for word := first; word < end; word++ {
		w := atomic.LoadUint64(&c.mem.w[word])
		used += bits.OnesCount64(someBit(w))
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	for word := first; word < end; word++ {
		for above := allBits(atomic.LoadUint64(&c.mem.w[word])); above != 0; above &= above - 1 {
			v := c.Cell(word*wordCells + uint64(bits.TrailingZeros64(above))/4)
			dst = append(dst, byte(v>>16), byte(v>>8), byte(v))
		}
	}
	return dst, used
}

// RaiseRaw joins a raw block that RawCells accepted for block i: each cell becomes at least
// its value in the block.
func (c *Counts) RaiseRaw(i uint64, code []byte) {
	from := i * countBlock
	to := min(from+countBlock, c.shape.Size())
	above := code[(to-from)/2:]
	s := c.lock(from)
	defer s.Unlock()
	defer runtime.KeepAlive(c.mem)
	for word := from / wordCells; word < to/wordCells; word, code = word+1, code[8:] {
		w := binary.LittleEndian.Uint64(code)
		if w == 0 {
			continue
		}
		if high := allBits(w); high == 0 && atomic.LoadUint64(&c.mem.w[word]) == 0 {
			n := int64(bits.OnesCount64(someBit(w)))
			s.used += n
			s.changes += n
			atomic.StoreUint64(&c.mem.w[word], w)
			continue
		}
		above = c.raiseWord(s, word, w, above)
	}
}

// raiseWord joins the cells of one word. above contains the values for its codes of 15;
// those used are removed from the result.
func (c *Counts) raiseWord(s *stripe, word, w uint64, above []byte) []byte {
	for cells := someBit(w); cells != 0; cells &= cells - 1 {
		shift := uint64(bits.TrailingZeros64(cells))
		v := uint32(w>>shift) & 15
		if v == escape {
			v, above = rawAbove(above), above[rawValue:]
		}
		if pos := word*wordCells + shift/4; c.Cell(pos) < v {
			s.changes++
			c.store(s, pos, v)
		}
	}
	return above
}
