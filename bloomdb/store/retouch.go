package store

import (
	"io"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
)

// Retouchable reports whether generation i lists a key, or would if the masked bit of another
// key were unmasked.
func (v *View) Retouchable(i int, h filter.Hash, self string) bool {
	g := v.Reports[i]
	revoked := func(g *ReportGeneration) bool { return g.revokes(h) }
	return g.Spam.Has(h) && len(g.Spam.Sites(h, self)) > 0 && !g.Mask.Retouched(h) &&
		!slices.ContainsFunc(v.Reports[:i+1], revoked)
}

// Chooser returns a chooser of bits to be masked in a generation.
func (st *Store) Chooser(g *ReportGeneration) *mask.Chooser {
	return mask.NewChooser(g.Mask, st.ShapeFor(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), g.Spam.Own, g.Spam.Others)
}

// Unmask returns the changes of the mask after which an own report of keys is found, as far as they
// were retouched before the second until. No other goroutine can change masks until release is called.
func (st *Store) Unmask(t layout.Target, keys []filter.Hash, until int64) (records []journal.Record, release func()) {
	release = func() {}
	g := st.View.Load().Report(t.Gen)
	if t.Kind != layout.SpamFilter || g == nil || !slices.ContainsFunc(keys, g.Mask.Hides) {
		return nil, release
	}
	st.RetouchMu.Lock()
	changed := st.Chooser(g).Unmask(keys, until, func(k journal.RetouchedKey) {
		st.Opt.Log.Warn("retouch undone: a report has the same bits", "id", k.Name.String(), "generation", t.Gen)
	})
	return mask.AppendRecords(nil, t.Gen, changed), st.RetouchMu.Unlock
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
func (st *Store) MaskOf(t layout.Target) (*mask.Mask, error) {
	in := func(g *ReportGeneration) **mask.Mask { return &g.Mask }
	return findOrMake(st, t.Gen, inReports(in), func() (*mask.Mask, error) { return mask.New(st.ShapeFor(t)), nil })
}

// MaskSnapshots returns the masks, one for each file. They contain all records of the journal
// before at.
func (st *Store) MaskSnapshots(at folder.LSN) []folder.Pending {
	var list []folder.Pending
	for _, g := range st.View.Load().Reports {
		if g.Mask == nil {
			continue
		}
		_, _, changes := g.Mask.Size()
		list = append(list, folder.Pending{
			Path:  mask.Files.Path(st.Opt.Dir, g.Num),
			State: folder.Saved{Changes: changes + 1, Sections: 1},
			Write: func(w io.Writer) error { return mask.Encode(w, st.Ring.KeyID, g.Num, at, g.Mask.All()) },
		})
	}
	return list
}
