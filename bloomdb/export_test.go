package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
)

// This file is all that the tests outside know of the package's inside.

// DefaultCampaigns is how many campaigns list a domain where nothing is set.
const DefaultCampaigns = defaultCampaigns

// FileForms returns the forms of all binary files.
func FileForms() []folder.FileForm { return fileForms }

// Keyspace returns what is held under Options.Key.
func (db *DB) Keyspace() *keyspace.Keyspace { return db.ks }

// Keyspaces returns one keyspace for each key, that of Options.Key first.
func (db *DB) Keyspaces() []*keyspace.Keyspace { return db.keys }

// Alone returns a database of one keyspace, which can be asked only.
func Alone(ks *keyspace.Keyspace) *DB { return &DB{ks: ks, keys: []*keyspace.Keyspace{ks}} }

// Options returns the options as Open has completed them.
func (db *DB) Options() Options { return db.options }

// Burst returns the counter of recent sightings.
func (db *DB) Burst() *recent.Counter { return db.burst }

// Greylist returns the greylist.
func (db *DB) Greylist() *recent.Greylist { return &db.greylist }

// Maintain does the work of one second, as Run does.
func (db *DB) Maintain() error { return db.maintain() }

// Complete fills in the defaults and validates the options.
func (o *Options) Complete() error { return o.complete() }

// Settings returns what the keyspaces know of completed options.
func (o Options) Settings() *layout.Settings { return o.settings() }

// WriteJournalTo has the journal's segments made by newFile.
func (o *Options) WriteJournalTo(newFile func(path string) (journal.SegmentFile, error)) {
	o.newFile = newFile
}
