package store

import (
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Set sets the bits of a report or a revocation. It sets the class first, so that a reader who
// finds the listing finds its class. It calls done with the positions that were set.
func (st *Store) Set(r journal.Record, done func(t layout.Target, positions []uint64)) error {
	if kind := r.Target.Kind; kind == layout.SketchFilter || kind == layout.LadderFilter {
		if st.Opt.Unwanted(kind) {
			return nil
		}
		return st.setBits(r.Target, keyring.StretchAll(r.Seeds), done)
	}
	if r.Class.Named() && st.Opt.Reports.Classes {
		labels := make([]filter.Hash, len(r.Hashes))
		for i, h := range r.Hashes {
			labels[i] = st.Ring.Labels(h)[r.Class]
		}
		if err := st.setBits(layout.Target{Kind: layout.ClassFilter, Gen: r.Target.Gen}, labels, done); err != nil {
			return err
		}
	}
	return st.setBits(r.Target, r.Hashes, done)
}

func (st *Store) setBits(t layout.Target, keys []filter.Hash, done func(t layout.Target, positions []uint64)) error {
	own, err := st.OwnBits(t, st.ShapeFor(t))
	if err != nil {
		return err
	}
	var positions []uint64
	for _, h := range keys {
		own.Set(h)
		positions = own.Shape().Positions(h, positions)
	}
	done(t, positions)
	return nil
}
