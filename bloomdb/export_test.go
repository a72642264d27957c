package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/recent"
)

// This file exports what tests need beyond the exported names, and cannot have from Status, Judge,
// Explain or package bloomdbtest:
//
//   - the moments of the periodic work, which Run chooses by the system's clock: Save, Maintain
//   - filters that are filled to their capacity, which takes minutes by reports, and filters of other
//     shapes than the options give: Keyspace, Burst, Greylist
//   - one keyspace without the other, which no method of a DB asks: Keyspaces, Alone
//   - a disk that fails at the next write of the journal: WriteJournalTo
//   - all file forms, so that none is left out of the test of newer versions: FileForms

// FileForms returns the forms of all binary files.
func FileForms() []folder.FileForm { return fileForms }

// Keyspace returns the keyspace of Options.Key.
func (db *DB) Keyspace() *keyspace.Keyspace { return db.ks }

// Keyspaces returns one keyspace for each key, that of Options.Key first.
func (db *DB) Keyspaces() []*keyspace.Keyspace { return db.keys }

// Alone returns a database of one keyspace, for lookups only.
func Alone(ks *keyspace.Keyspace) *DB { return &DB{ks: ks, keys: []*keyspace.Keyspace{ks}} }

// Save writes a snapshot of each keyspace, like Run every ten minutes.
func (db *DB) Save() error { return db.Keep() }

// Burst returns the counter of recent sightings.
func (db *DB) Burst() *recent.Counter { return db.burst }

// Greylist returns the greylist.
func (db *DB) Greylist() *recent.Greylist { return &db.greylist }

// Maintain performs the periodic work once, like Run.
func (db *DB) Maintain() error { return db.maintain() }

// WriteJournalTo sets the function that creates the journal's segments.
func (o *Options) WriteJournalTo(newFile func(path string) (journal.SegmentFile, error)) {
	o.newFile = newFile
}
