package store

import (
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Retouchable reports whether generation i lists a key, or would if the masked bit of another
// key were unmasked.
func (v *View) Retouchable(i int, h filter.Hash, self string) bool {
	g := v.Reports[i]
	revoked := func(g *ReportGeneration) bool { return g.Revokes(h) }
	return g.Spam.Has(h) && len(g.Spam.Sites(h, self)) > 0 && !g.Mask.Retouched(h) &&
		!slices.ContainsFunc(v.Reports[:i+1], revoked)
}

// bitChooser chooses the bit of a key in one generation that affects the fewest other keys.
type bitChooser struct {
	shape       filter.BitsShape
	own, others *filter.Bits
	mask        *mask
	forbidden   map[uint64]bool // positions that must not be masked
	chosen      map[uint64]bool // positions that this chooser has returned
}

func (st *Store) Chooser(g *ReportGeneration) *bitChooser {
	return &bitChooser{
		shape: st.ShapeFor(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), own: g.Spam.Own, others: g.Spam.Others, mask: g.Mask,
		forbidden: make(map[uint64]bool), chosen: make(map[uint64]bool),
	}
}

// Choose returns the index of a key's bit, and how many other keys it affects. A masked bit
// costs nothing. It reports false if all bits are forbidden.
func (c *bitChooser) Choose(h filter.Hash) (bit uint8, least filter.Load, ok bool) {
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

// Unmask returns the changes of the mask after which an own report of keys is found. The keys'
// own retouches are undone, and other keys that rest on their bits get other bits. No other
// goroutine can change masks until release is called.
func (st *Store) Unmask(t layout.Target, keys []filter.Hash) (records []journal.Record, release func()) {
	release = func() {}
	g := st.View.Load().Report(t.Gen)
	if t.Kind != layout.SpamFilter || g == nil || !slices.ContainsFunc(keys, g.Mask.Hides) {
		return nil, release
	}
	st.RetouchMu.Lock()
	c := st.Chooser(g)
	for _, h := range keys {
		for _, pos := range c.shape.Positions(h, nil) {
			c.forbidden[pos] = true
		}
	}
	changed := g.Mask.RestingOn(c.forbidden)
	for i := range changed {
		k := &changed[i]
		bit, _, ok := c.Choose(k.Hash)
		switch {
		case slices.Contains(keys, k.Hash):
			k.Bit = journal.TakenBack
		case ok:
			k.Bit = bit
		default: // all its bits belong to the report: the filter cannot distinguish the two
			k.Bit = journal.TakenBack
			st.Opt.Log.Warn("retouch undone: a report has the same bits", "id", k.Name.String(), "generation", t.Gen)
		}
	}
	return AppendMaskRecords(nil, t.Gen, changed), st.RetouchMu.Unlock
}

// keysPerMaskRecord is the number of keys that a journal record has room for.
const keysPerMaskRecord = (journal.MaxRecord - 64) / journal.RetouchedSize

// AppendMaskRecords appends records with the mask entries of keys of one generation.
func AppendMaskRecords(records []journal.Record, gen int64, keys []journal.RetouchedKey) []journal.Record {
	for some := range slices.Chunk(keys, keysPerMaskRecord) {
		records = append(records, journal.Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: gen}, Retouched: some})
	}
	return records
}

// ApplyMasks applies records to the masks of their generations.
func (st *Store) ApplyMasks(records []journal.Record) error {
	for _, r := range records {
		m, err := st.MaskOf(r.Target)
		if err != nil {
			return err
		}
		m.Set(r.Retouched)
	}
	return nil
}

// MaskOf returns the mask of a generation, and creates it if necessary.
func (st *Store) MaskOf(t layout.Target) (*mask, error) {
	in := func(g *ReportGeneration) **mask { return &g.Mask }
	return findOrMake(st, t.Gen, inReports(in), func() (*mask, error) { return newMask(st.ShapeFor(t)), nil })
}
