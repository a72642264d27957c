package mask

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
)

// MaxKeys limits the keys that are retouched in one generation, and so the masked bits and
// the memory of a mask.
const MaxKeys = 1 << 16

// KeyBytes is the memory in bytes of one retouched key: two map entries.
const KeyBytes = 256

// Mask hides bits of a generation's spam filters, own and others', when a key is looked up. The
// bits themselves stay, so that a retouch can be undone, and no delta can restore a listing.
// Readers share its lock. Writers hold store.Store.RetouchMu, too.
type Mask struct {
	shape filter.BitsShape

	mu      sync.RWMutex // guards all below
	keys    map[filter.Hash]journal.RetouchedKey
	bits    map[uint64][]filter.Hash // by masked position: the keys that rest on it
	changes int64
}

// New returns the mask of a generation without retouches.
func New(shape filter.BitsShape) *Mask {
	return &Mask{shape: shape, keys: make(map[filter.Hash]journal.RetouchedKey), bits: make(map[uint64][]filter.Hash)}
}

// Shape returns the shape of the filters.
func (m *Mask) Shape() filter.BitsShape { return m.shape }

// Hides reports whether one of a key's bits is masked. A nil mask hides nothing.
func (m *Mask) Hides(h filter.Hash) bool {
	if m == nil {
		return false
	}
	var buf [16]uint64
	positions := m.shape.Positions(h, buf[:0])
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.ContainsFunc(positions, func(pos uint64) bool { return len(m.bits[pos]) > 0 })
}

// Retouched reports whether the key itself was retouched.
func (m *Mask) Retouched(h filter.Hash) bool {
	if m == nil {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.keys[h]
	return ok
}

// isMasked reports whether a position is masked.
func (m *Mask) isMasked(pos uint64) bool {
	if m == nil {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.bits[pos]) > 0
}

// RestingOn returns the keys whose masked bit is at one of the positions.
func (m *Mask) RestingOn(positions map[uint64]bool) []journal.RetouchedKey {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var keys []journal.RetouchedKey
	for pos := range positions {
		for _, h := range m.bits[pos] {
			keys = append(keys, m.keys[h])
		}
	}
	return keys
}

// position returns the position of a retouched key's masked bit. The bit's index is valid for
// any k: a generation that is in no snapshot yet may get another shape.
func (m *Mask) position(k journal.RetouchedKey) uint64 {
	return m.shape.Positions(k.Hash, nil)[int(k.Bit)%m.shape.K]
}

// Set replaces the entries of the given keys. Doing so twice changes nothing.
func (m *Mask) Set(keys []journal.RetouchedKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range keys {
		m.remove(k.Hash)
		m.changes++
		if k.Bit != journal.TakenBack {
			pos := m.position(k)
			m.keys[k.Hash] = k
			m.bits[pos] = append(m.bits[pos], k.Hash)
		}
	}
}

// remove unmasks a key's bit, unless other keys rest on it. The caller holds mu.
func (m *Mask) remove(h filter.Hash) {
	k, ok := m.keys[h]
	if !ok {
		return
	}
	delete(m.keys, h)
	pos := m.position(k)
	rest := slices.DeleteFunc(m.bits[pos], func(other filter.Hash) bool { return other == h })
	if m.bits[pos] = rest; len(rest) == 0 {
		delete(m.bits, pos)
	}
}

// All returns the keys, last retouched first. It sorts them without the lock, because a waiting
// writer would block Judge.
func (m *Mask) All() []journal.RetouchedKey {
	m.mu.RLock()
	keys := slices.AppendSeq(make([]journal.RetouchedKey, 0, len(m.keys)), maps.Values(m.keys))
	m.mu.RUnlock()
	slices.SortFunc(keys, func(a, b journal.RetouchedKey) int {
		return cmp.Or(cmp.Compare(b.At, a.At), slices.Compare(a.Hash[:], b.Hash[:]))
	})
	return keys
}

// Masked returns the masked positions.
func (m *Mask) Masked() []uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	positions := make([]uint64, 0, len(m.bits))
	for pos := range m.bits {
		positions = append(positions, pos)
	}
	return positions
}

// Size returns the number of retouched keys, of masked bits, and of changes so far.
func (m *Mask) Size() (keys, bits int, changes int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.keys), len(m.bits), m.changes
}

// Check verifies that keys and bits are consistent.
func (m *Mask) Check() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	resting := 0
	for pos, keys := range m.bits {
		for _, h := range keys {
			if k, ok := m.keys[h]; !ok || m.position(k) != pos {
				return fmt.Errorf("masked bit %d: no retouched key uses it", pos)
			}
		}
		resting += len(keys)
	}
	if resting != len(m.keys) || len(m.keys) > MaxKeys {
		return fmt.Errorf("%d retouched keys, %d of them with a masked bit, must be at most %d", len(m.keys), resting, MaxKeys)
	}
	return nil
}
