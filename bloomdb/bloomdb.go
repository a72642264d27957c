package bloomdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/signature"
)

// ErrLocked is the error of Open if another process has the state folder.
var ErrLocked = errors.New("state folder is in use by another process")

// DB is the database of one site. It holds a keyspace for each federation key: that of
// Options.Key, and during a roll-over that of Options.PreviousKey, too. Methods for the
// site's own mail and reports use both. Methods for the exchange with other sites use the
// first one; those of Previous use the second one.
//
// All methods are safe for concurrent use, except Close, which must be the last.
type DB struct {
	ks       *keyspace.Keyspace    // under Options.Key
	keys     []*keyspace.Keyspace  // one or two, that one first; their locks are taken in this order
	unsaved  atomic.Pointer[error] // see Unsaved
	previous *DB                   // contains the second keyspace only; nil: there is none
	lock     *flock.Flock

	burst    *recent.Counter                              // nil: sightings of the last minutes are not counted
	settled  atomic.Pointer[map[signature.Signature]bool] // see Settle
	greylist recent.Greylist
}

// Open locks Dir, validates all files in it and replays the journal. Errors name the file and
// the offset: ErrLocked if another process has the folder, ErrIdentity if it was made with
// other options, *DamageError for a damaged file, ErrNewer for a file of a newer version.
//
// With Options.PreviousKey the database has two keyspaces, see Previous. Open creates the
// keyspace of Key at the first time. Without PreviousKey, it finds the keyspace of Key in the
// folder, whether or not the key was changed before.
func Open(o Options) (*DB, error) { return open(o, nil) }

// open opens the folder, and repairs it if m is not nil.
func open(o Options, m *repair.Mending) (*DB, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	lock := folder.NewLock(o.Dir)
	if ok, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("state folder %s: lock: %w", o.Dir, err)
	} else if !ok {
		return nil, fmt.Errorf("state folder %s: %w", o.Dir, ErrLocked)
	}
	db, err := openLocked(o, m)
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	db.lock = lock
	db.ks.Keeper.Watch(func(own bool) bool {
		return slices.ContainsFunc(db.keys, func(ks *keyspace.Keyspace) bool { return ks.HoldsReports(own) })
	})
	return db, nil
}

// openLocked reads the clock first: everything else depends on the time.
func openLocked(o Options, m *repair.Mending) (*DB, error) {
	o.keeper = clock.New(o.Now, o.Elapsed, o.Log)
	err := folder.RefuseNewer(o.Dir, fileForms)
	if err == nil {
		err = o.keeper.Load(o.Dir, o.Reports.Period*time.Duration(o.Reports.Keep-1))
	}
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	o.Now = o.keeper.Now
	if o.mending = m; m != nil {
		// Identities record which files belong to which key.
		if err := m.MendIdentities(o.settings(), keyring.ID(o.Key)); err != nil {
			return nil, err
		}
	}
	burst, err := recent.New(o.settings())
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(o)
	if err != nil {
		return nil, err
	}
	db := &DB{ks: keys[0], keys: keys, burst: burst}
	if len(keys) > 1 {
		db.previous = &DB{ks: keys[1], keys: keys[1:]}
	}
	return db, nil
}

// Previous returns a database with the keyspace of Options.PreviousKey only, for an exchange
// of its own; nil if there is no such key. Changes of this database change it, too. Close
// closes both, and Run performs the periodic work of both.
func (db *DB) Previous() *DB { return db.previous }

// each runs f for every keyspace and stops at the first error.
func (db *DB) each(f func(*keyspace.Keyspace) error) error {
	for _, ks := range db.keys {
		if err := f(ks); err != nil {
			return err
		}
	}
	return nil
}

// all runs f for every keyspace, also after an error, and joins the errors.
func (db *DB) all(f func(*keyspace.Keyspace) error) (err error) {
	for _, ks := range db.keys {
		err = errors.Join(err, f(ks))
	}
	return err
}

// ready returns why the journal of a keyspace cannot be written, if that is known.
func (db *DB) ready() error {
	return db.each(func(ks *keyspace.Keyspace) error { return ks.Journal.Ready() })
}

// Close writes a snapshot and unlocks the folder. No other method may run at the same time or
// later, except those that only read the filters.
func (db *DB) Close() error {
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	err := db.all((*keyspace.Keyspace).Close)
	if db.lock != nil {
		err = errors.Join(err, db.ks.Keeper.Write(true), db.lock.Unlock())
	}
	return err
}

// syncInterval is the time between two rounds of periodic work. A crash loses at most the
// counts of that time.
const syncInterval = time.Second

// Run performs the periodic work until ctx ends, and then returns nil. It syncs counts to disk
// every second, drops expired generations, and writes snapshots every ten minutes or 64 MiB of
// journal. It logs disk faults and retries.
func (db *DB) Run(ctx context.Context) error {
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	var fault string // last logged
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := db.maintain()
		switch {
		case err != nil && err.Error() != fault:
			fault = err.Error()
			db.ks.Settings.Log.Error("state cannot be written", "error", err)
		case err == nil && fault != "":
			fault = ""
			db.ks.Settings.Log.Info("state can be written again")
		}
	}
}

// maintain performs the periodic work once.
func (db *DB) maintain() error {
	err := errors.Join(db.all((*keyspace.Keyspace).Tick), db.ks.Keeper.Write(false))
	db.unsaved.Store(&err)
	return err
}

// Unsaved returns why Run could not write the state folder, until it can; nil if it can. If Fault is
// nil, the journal keeps all reports meanwhile.
func (db *DB) Unsaved() error {
	if err := db.unsaved.Load(); err != nil {
		return *err
	}
	return nil
}

// Fault returns the disk fault because of which this site's state cannot be written; nil when
// it is over. It is cheap.
func (db *DB) Fault() error {
	return db.each(func(ks *keyspace.Keyspace) error { return ks.Journal.LastFault() })
}

// fileForms are the forms of all binary files.
var fileForms = []folder.FileForm{journal.Form, snapshot.Form, journal.SegmentsForm.FileForm, mask.Form.FileForm,
	commonness.Form.FileForm, never.Form.FileForm, wire.OwnVotesForm.FileForm, clock.Form.FileForm}

// Repair opens the database like Open, and repairs damage that Open rejects. From a damaged
// filter or journal it uses every block and record with a correct checksum. It creates a
// damaged identity anew. A damaged file is kept as NAME.damaged. The caller then restores lost
// reports with Restore, from the ledger of reports, and closes the database, which writes the
// result to disk. Errors are those of Open, for damage that cannot be repaired.
func Repair(o Options) (*DB, []repair.Repaired, error) {
	m := new(repair.Mending)
	db, err := open(o, m)
	return db, m.Done, err
}
