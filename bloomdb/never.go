package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/signature"
)

// covers returns the parts of a message that are on the never-list, in any keyspace.
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

// Never puts a message on the never-list of this site: no report lists it here, and a report of
// it here is rejected with ErrNever. The same holds for a near-duplicate that has at least half
// of its sketch's keys in common with the message. Attachments and images of the message are
// not listed in other mail either. An attachment that the message did not have can still be
// listed, also beside the same text. To change the note, call Never again. A note has at most
// 200 bytes of visible characters.
//
// When Never returns nil, the entry is on disk. Errors: ErrNothing, ErrFull, ErrClosed, or a
// wrapped I/O error, after which the message is not on the list. During a key change, an I/O
// error may leave the entry under one key, where it appears after a restart.
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

// RemoveNever removes a message from the never-list: all entries that have a signature of its body
// or text. If the set has only signatures of parts, it removes the entries that have one of
// those. It is not an error if there is no such entry. When RemoveNever returns nil, the change is
// on disk. Errors: ErrNothing, ErrClosed, or a wrapped I/O error.
func (db *DB) RemoveNever(set signature.Set) ([]never.Declared, error) {
	if err := db.ks.Writable(set); err != nil {
		return nil, err
	}
	return db.removeNever(func(ks *keyspace.Keyspace) ([]never.Declared, error) { return ks.RemoveNeverSet(set) })
}

// RemoveNeverID removes the entry with an id from the never-list. Otherwise it is like RemoveNever.
func (db *DB) RemoveNeverID(id string) ([]never.Declared, error) {
	if db.ks.Closed.Load() {
		return nil, layout.ErrClosed
	}
	return db.removeNever(func(ks *keyspace.Keyspace) ([]never.Declared, error) {
		return ks.RemoveNever(func(e *never.Entry) bool { return e.Name.String() == id })
	})
}

// removeNever removes entries from the lists of all keyspaces, and returns each message once.
func (db *DB) removeNever(remove func(*keyspace.Keyspace) ([]never.Declared, error)) (removed []never.Declared, err error) {
	err = db.each(func(ks *keyspace.Keyspace) error {
		entries, err := remove(ks)
		removed = uniteEntries(removed, entries)
		return err
	})
	return removed, err
}

// NeverList returns the messages on the never-list, latest first.
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

// uniteEntries adds the entries of messages that are not in the list yet, and sorts them, latest
// first.
func uniteEntries(list, more []never.Declared) []never.Declared {
	for _, e := range more {
		if !slices.ContainsFunc(list, func(o never.Declared) bool { return e.ID == o.ID }) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b never.Declared) int { return b.At.Compare(a.At) })
	return list
}

// reportable returns a message without the parts that are on the never-list. It returns ErrNever
// if the message itself is on the list, or if nothing remains.
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
