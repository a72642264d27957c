package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/signature"
)

// covers returns what of a message is declared under any key.
func (db *DB) covers(set signature.Set) (c never.Coverage) {
	for _, ks := range db.keys {
		hashes := make([]filter.Hash, len(set.Signatures))
		for i, s := range set.Signatures {
			hashes[i] = ks.Ring.ReportHash(s)
		}
		c = c.Unite(ks.Never.Covers(&set, hashes))
	}
	return c
}

// Never declares that a message is never spam, on this site only: it is not listed
// whoever reported it, and a report of it here is refused with ErrNever. So is a
// near-duplicate, of which at least half of the keys of its sketch are those of
// the declared message. An attachment, or an image, of the message is not listed
// in other mail either; one that the message did not have is, also beside the
// declared text. Declaring a message again changes its note, at most 200 bytes of
// visible characters.
//
// When it returns nil, the declaration is on disk. ErrNothing, ErrFull, ErrClosed,
// or a wrapped I/O error, after which nothing was declared. During a roll-over it may then
// be declared under one key after a restart.
func (db *DB) Never(set signature.Set, note string) (never.Declared, error) {
	if err := db.ks.Writable(set); err != nil {
		return never.Declared{}, err
	}
	if err := never.CheckNote(note); err != nil {
		return never.Declared{}, err
	}
	var declared never.Declared
	err := db.update(func(ks *keyspace.Keyspace) (keyspace.Update, error) {
		e, u, err := ks.PrepareNever(set, note)
		if ks == db.ks {
			declared = e
		}
		return u, err
	})
	if err != nil {
		return never.Declared{}, err
	}
	return declared, nil
}

// Unnever takes a message off the never-list: all entries with one of its
// signatures that is not of a part, or of any where it has no others. None is no
// error. When it returns nil, that is on disk. ErrNothing, ErrClosed, or a wrapped
// I/O error.
func (db *DB) Unnever(set signature.Set) ([]never.Declared, error) {
	if err := db.ks.Writable(set); err != nil {
		return nil, err
	}
	return db.unneverAll(func(ks *keyspace.Keyspace) ([]never.Declared, error) { return ks.UnneverSet(set) })
}

// UnneverID takes the entry of an id off the never-list; else as Unnever.
func (db *DB) UnneverID(id string) ([]never.Declared, error) {
	if db.ks.Closed.Load() {
		return nil, layout.ErrClosed
	}
	return db.unneverAll(func(ks *keyspace.Keyspace) ([]never.Declared, error) {
		return ks.Unnever(func(e *never.Entry) bool { return e.Name.String() == id })
	})
}

// unneverAll takes entries off all keyspaces' lists, and names each message once.
func (db *DB) unneverAll(unnever func(*keyspace.Keyspace) ([]never.Declared, error)) (removed []never.Declared, err error) {
	err = db.each(func(ks *keyspace.Keyspace) error {
		entries, err := unnever(ks)
		removed = uniteEntries(removed, entries)
		return err
	})
	return removed, err
}

// NeverList lists the declared messages, the latest first.
func (db *DB) NeverList() []never.Declared {
	list := []never.Declared{}
	for _, ks := range db.keys {
		var entries []never.Declared
		for _, e := range ks.Never.All() {
			entries = append(entries, e.Public())
		}
		list = uniteEntries(list, entries)
	}
	return list
}

// uniteEntries adds the entries of messages that are not listed yet; the latest comes first.
func uniteEntries(list, more []never.Declared) []never.Declared {
	for _, e := range more {
		if !slices.ContainsFunc(list, func(o never.Declared) bool { return e.ID == o.ID }) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b never.Declared) int { return b.At.Compare(a.At) })
	return list
}

// reportable returns what of a message may be reported: without declared parts.
// ErrNever where the message is declared, or nothing is left.
func (db *DB) reportable(set signature.Set) (signature.Set, error) {
	set = set.ToReport()
	c, hadAny := db.covers(set), len(set.Signatures) > 0
	if c.Message {
		return set, never.ErrNever
	}
	if len(c.Parts) > 0 {
		set.Signatures = slices.DeleteFunc(slices.Clone(set.Signatures), c.Spares)
	}
	if c.Images {
		set.Sketches = slices.DeleteFunc(slices.Clone(set.Sketches), func(s signature.Sketch) bool { return s.Kind == signature.KindImage })
	}
	if len(set.Signatures) == 0 && hadAny {
		return set, never.ErrNever
	}
	return set, nil
}
