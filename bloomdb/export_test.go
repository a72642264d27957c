package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
)

// This file exports what tests need beyond the exported names.

// DefaultCampaigns is the default of DomainOptions.Campaigns.
const DefaultCampaigns = defaultCampaigns

// FileForms returns the forms of all binary files.
func FileForms() []folder.FileForm { return fileForms }

// Keyspace returns the keyspace of Options.Key.
func (db *DB) Keyspace() *keyspace.Keyspace { return db.ks }

// Keyspaces returns one keyspace for each key, that of Options.Key first.
func (db *DB) Keyspaces() []*keyspace.Keyspace { return db.keys }

// Alone returns a database of one keyspace, for lookups only.
func Alone(ks *keyspace.Keyspace) *DB { return &DB{ks: ks, keys: []*keyspace.Keyspace{ks}} }

// Save writes a snapshot of each keyspace, like Run every ten minutes.
func (db *DB) Save() error { return db.all((*keyspace.Keyspace).Save) }

// Settings returns the settings of the keyspace of Options.Key.
func (db *DB) Settings() *layout.Settings { return db.ks.Settings }

// Options returns the options with defaults filled in.
func (db *DB) Options() Options { return db.options }

// Burst returns the counter of recent sightings.
func (db *DB) Burst() *recent.Counter { return db.burst }

// Greylist returns the greylist.
func (db *DB) Greylist() *recent.Greylist { return &db.greylist }

// Maintain performs the periodic work once, like Run.
func (db *DB) Maintain() error { return db.maintain() }

// Complete fills in the defaults and validates the options.
func (o *Options) Complete() error { return o.complete() }

// Settings returns the settings of keyspaces from completed options.
func (o Options) Settings() *layout.Settings { return o.settings() }

// WriteJournalTo sets the function that creates the journal's segments.
func (o *Options) WriteJournalTo(newFile func(path string) (journal.SegmentFile, error)) {
	o.newFile = newFile
}
