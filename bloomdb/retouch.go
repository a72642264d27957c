package bloomdb

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/signature"
)

// Retouch removes the listings of a message on this site only; it is not published (Donnet,
// Baynat, Friedman, "Retouched Bloom Filters", 2006). In every generation that lists one of the
// message's signatures, and that no revocation overrides, it masks one of the signature's bits
// in the spam filters of all sites. It chooses the bit that removes the fewest other listings
// (minimum-FN selection, section IV). Reports of other sites do not list the signature in that
// generation again. A report of this site does: it unmasks the bits, and other retouched
// signatures that used them get other bits.
//
// When Retouch returns nil, the change is on disk. Errors: ErrNothing, ErrFull, ErrClosed, or a
// wrapped I/O error, after which nothing is retouched.
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

// PlanRetouch returns the result that Retouch would have, and changes nothing. Errors are those
// of Retouch.
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

// Retouched returns the retouched signatures of generations that have not expired: newest
// generation first, within a generation the latest retouch first.
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
