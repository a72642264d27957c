package bloomdb

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/signature"
)

// Retouch takes a message out of the listings, here only: it is not published
// (Donnet, Baynat, Friedman, "Retouched Bloom Filters", 2006). In every live
// generation that lists one of its signatures, and has no revocation of it, one
// of its bits is masked, in this site's spam filter and in those of all others:
// the one by which the fewest other listings are lost (minimum-FN selection,
// section IV). No report of another site lists the signature in that generation
// again. An own report does: its bits are unmasked, and other retouched signatures
// that used them get other bits.
//
// When it returns nil, that is on disk. ErrNothing, ErrFull, ErrClosed, or a
// wrapped I/O error, after which nothing was retouched.
func (db *DB) Retouch(set signature.Set) (keyspace.Retouching, error) {
	if err := db.ks.Writable(set); err != nil {
		return keyspace.Retouching{}, err
	}
	var sum keyspace.Retouching
	err := db.update(func(ks *keyspace.Keyspace) (keyspace.Update, error) {
		u, r, err := ks.PrepareRetouch(set)
		sum.Add(r)
		return u, err
	})
	if err != nil {
		return keyspace.Retouching{}, err
	}
	sum.SortAs(set)
	return sum, nil
}

// PlanRetouch returns what Retouch would do, and does nothing. Errors as for Retouch.
func (db *DB) PlanRetouch(set signature.Set) (keyspace.Retouching, error) {
	if err := db.ks.Writable(set); err != nil {
		return keyspace.Retouching{}, err
	}
	var sum keyspace.Retouching
	for _, ks := range db.keys {
		u, r, err := ks.PrepareRetouch(set)
		defer u.Release()
		if err != nil {
			return keyspace.Retouching{}, err
		}
		sum.Add(r)
	}
	sum.SortAs(set)
	return sum, nil
}

// Retouched lists the retouched signatures of live generations: the newest
// generation first, in it the latest retouch.
func (db *DB) Retouched() []keyspace.RetouchedKey {
	var list []keyspace.RetouchedKey
	for i, ks := range db.keys {
		for _, k := range ks.RetouchedKeys() {
			known := slices.ContainsFunc(list, func(o keyspace.RetouchedKey) bool { return o.ID == k.ID && o.Generation == k.Generation })
			if !known || i == 0 {
				list = append(list, k)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b keyspace.RetouchedKey) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), b.At.Compare(a.At))
	})
	return list
}
