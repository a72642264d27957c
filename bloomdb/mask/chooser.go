package mask

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Chooser chooses the bit of a key in one generation that affects the fewest other keys.
type Chooser struct {
	mask        *Mask // nil: nothing is masked
	shape       filter.BitsShape
	own, others *filter.Bits
	forbidden   map[uint64]bool // positions that must not be masked
	chosen      map[uint64]bool // positions that this chooser has returned
}

// NewChooser returns a chooser for a generation with these spam filters, of this shape.
func NewChooser(m *Mask, shape filter.BitsShape, own, others *filter.Bits) *Chooser {
	return &Chooser{mask: m, shape: shape, own: own, others: others, forbidden: make(map[uint64]bool), chosen: make(map[uint64]bool)}
}

// Choose returns the index of a key's bit, and how many other keys it affects. A masked bit
// costs nothing. It reports false if all bits are forbidden.
func (c *Chooser) Choose(h filter.Hash) (bit uint8, least filter.Load, ok bool) {
	least.Keys = math.Inf(1)
	positions := c.shape.Positions(h, nil)
	for i, pos := range positions {
		if c.forbidden[pos] {
			continue
		}
		var load filter.Load
		if !c.chosen[pos] && !c.mask.isMasked(pos) {
			load = filter.LoadAt(pos, c.own, c.others)
		}
		if load.Keys < least.Keys {
			bit, least, ok = uint8(i), load, true
		}
	}
	if ok {
		c.chosen[positions[bit]] = true
	}
	return bit, least, ok
}

// Unmask returns the changes of the mask after which keys are found: their own retouches are
// undone, and other keys that rest on their bits get other bits. It calls lost for a key
// whose retouch must be undone, because the filter cannot distinguish it from the keys. Retouches of
// the second until, in seconds since 1970, and later ones remain.
func (c *Chooser) Unmask(keys []filter.Hash, until int64, lost func(journal.RetouchedKey)) []journal.RetouchedKey {
	for _, h := range keys {
		for _, pos := range c.shape.Positions(h, nil) {
			c.forbidden[pos] = true
		}
	}
	changed := slices.DeleteFunc(c.mask.RestingOn(c.forbidden), func(k journal.RetouchedKey) bool { return k.At >= until })
	for i := range changed {
		k := &changed[i]
		bit, _, ok := c.Choose(k.Hash)
		switch {
		case slices.Contains(keys, k.Hash):
			k.Bit = journal.TakenBack
		case ok:
			k.Bit = bit
		default: // all its bits belong to the keys
			k.Bit = journal.TakenBack
			lost(*k)
		}
	}
	return changed
}

// keysPerRecord is the number of keys that a journal record has room for.
const keysPerRecord = (journal.MaxRecord - 64) / journal.RetouchedSize

// AppendRecords appends records with the mask entries of keys of one generation.
func AppendRecords(records []journal.Record, gen int64, keys []journal.RetouchedKey) []journal.Record {
	for some := range slices.Chunk(keys, keysPerRecord) {
		records = append(records, journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: gen}, Retouched: some})
	}
	return records
}
