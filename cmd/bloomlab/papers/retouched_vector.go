package papers

import (
	"errors"
	"fmt"
	"slices"
)

// maxCounting bounds m of a CountingVector, which takes 4 bytes a bit.
const maxCounting = 1 << 32

// CountingVector is v_A or v_B of the retouched filter: for each of m bits the
// number of keys that have it (CREATECV and CREATEFV in Algorithms 2 to 4). A key
// counts once for a bit, even if two of its positions are equal; the paper counts
// it twice.
//
// A static vector is the paper's: when a bit is cleared, only its own count becomes 0. A
// live vector stores its keys. It removes the keys of a cleared bit from all their other
// bits as well, so it always counts the keys that can still be lost or removed. It takes
// some 16 bytes more for each position of a key.
type CountingVector struct {
	counts []uint32
	keys   *keyLists // nil: static
}

// keyLists has, for each bit, a list of the keys that have it. An entry is one
// position of one key; entries of a key stand side by side.
type keyLists struct {
	head    []int32 // of each bit: its first entry, -1: none
	entries []keyEntry
	first   []int32 // of each key: its first entry; one more at the end
	gone    []bool  // of each key: a bit of it was cleared
}

type keyEntry struct {
	pos  uint64
	next int32 // entry of the same bit, -1: none
	key  int32
}

// maxEntries is as many as an int32 can number.
const maxEntries = 1<<31 - 1

var errManyKeys = errors.New("counting vector: too many keys for a live one")

// NewCountingVector makes an empty vector for m bits, 1 to maxCounting.
func NewCountingVector(m uint64, live bool) (*CountingVector, error) {
	if m < 1 || m > maxCounting {
		return nil, fmt.Errorf("counting vector: m is %d, must be 1 to %d", m, uint64(maxCounting))
	}
	v := &CountingVector{counts: make([]uint32, m)}
	if live {
		v.keys = &keyLists{head: make([]int32, m), first: []int32{0}}
		for i := range v.keys.head {
			v.keys.head[i] = -1
		}
	}
	return v, nil
}

// fits returns an error if the vector does not fit a filter.
func (v *CountingVector) fits(bloom *Classic) error {
	if v == nil {
		return errors.New("no counting vector")
	}
	if uint64(len(v.counts)) != bloom.Size() {
		return fmt.Errorf("counting vector of m=%d for a filter of m=%d", len(v.counts), bloom.Size())
	}
	return nil
}

// At is the count of a bit, pos < m.
func (v *CountingVector) At(pos uint64) uint64 { return uint64(v.counts[pos]) }

// Add counts a key by its positions, each below m. All keys must be added before
// the first bit is cleared. A live vector takes 2^31-1 positions at most; one
// more key is an error.
func (v *CountingVector) Add(positions []uint64) error {
	if v.keys != nil && len(v.keys.entries)+len(positions) > maxEntries {
		return errManyKeys
	}
	for i, pos := range positions {
		if slices.Contains(positions[:i], pos) {
			continue
		}
		v.counts[pos]++
		if v.keys != nil {
			v.keys.add(pos)
		}
	}
	if v.keys != nil {
		v.keys.first = append(v.keys.first, int32(len(v.keys.entries)))
		v.keys.gone = append(v.keys.gone, false)
	}
	return nil
}

// add makes an entry for the key that is being added.
func (l *keyLists) add(pos uint64) {
	l.entries = append(l.entries, keyEntry{pos: pos, next: l.head[pos], key: int32(len(l.gone))})
	l.head[pos] = int32(len(l.entries) - 1)
}

// clear updates the vector after a bit was cleared.
func (v *CountingVector) clear(pos uint64) {
	if v.keys != nil {
		for e := v.keys.head[pos]; e >= 0; e = v.keys.entries[e].next {
			v.remove(v.keys.entries[e].key)
		}
	}
	v.counts[pos] = 0
}

// remove takes a key out of all its bits.
func (v *CountingVector) remove(key int32) {
	l := v.keys
	if l.gone[key] {
		return
	}
	l.gone[key] = true
	for _, e := range l.entries[l.first[key]:l.first[key+1]] {
		v.counts[e.pos]--
	}
}

// Clone is a vector of the same counts and keys that is cleared on its own.
func (v *CountingVector) Clone() *CountingVector {
	c := &CountingVector{counts: slices.Clone(v.counts)}
	if l := v.keys; l != nil {
		// Entries never change, so they are shared; an Add makes a copy of them.
		c.keys = &keyLists{
			head:    slices.Clone(l.head),
			entries: slices.Clip(l.entries),
			first:   slices.Clip(l.first),
			gone:    slices.Clone(l.gone),
		}
	}
	return c
}
