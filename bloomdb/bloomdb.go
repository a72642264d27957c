package bloomdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// Errors a caller branches on.
var (
	ErrLocked     = errors.New("state folder is in use by another process")
	ErrNothing    = errors.New("too little content to sign") // a Set without signatures
	ErrFull       = errors.New("the generation's capacity is used up")
	ErrClosed     = errors.New("database is closed")
	ErrIdentity   = errors.New("another identity")   // Open: the folder is of another site, key or period
	ErrParameters = errors.New("parameters differ")  // Apply: made with other sizes, periods or layouts
	ErrFederation = errors.New("another federation") // Apply: made under another key
	ErrGap        = errors.New("sequence gap")       // Apply: earlier deltas of the origin are missing

	// Of records, beside these:
	ErrStranger = errors.New("not a member here")
	ErrUnsigned = errors.New("not signed by its site")
	ErrTrust    = errors.New("not heard in full")
	ErrReplayed = errors.New("of a life that is over")
	ErrClock    = errors.New("the clocks differ")
)

// DB is the database of one site. It holds a keyspace for each federation key: that of
// Options.Key, and during a roll-over that of Options.PreviousKey, too. Methods for the
// site's own mail and reports use both. Methods for the exchange with other sites use the
// first one; those of Previous use the second one.
//
// All methods are safe for concurrent use, except Close, which must be the last.
type DB struct {
	ks       *keyspace   // under Options.Key
	keys     []*keyspace // one or two, that one first; their locks are taken in this order
	previous *DB         // holds the second keyspace only; nil: there is none
	lock     *flock.Flock
	options  Options // as Open has completed them

	burst    *burstCounter // nil: none
	greylist greylist
}

// Open locks Dir, validates all files in it and replays the journal. Its errors name the
// file and the offset. ErrLocked: another process has the folder. ErrIdentity: the folder
// was made with other options. *DamageError: a file is damaged. ErrNewer: a newer version
// made it.
//
// With Options.PreviousKey the database has two keyspaces, see Previous. The first time,
// that of Key is made. Without PreviousKey, Open finds a key that was rolled over to.
func Open(o Options) (*DB, error) { return open(o, nil) }

// open opens the folder, and repairs it if m is not nil.
func open(o Options, m *mending) (*DB, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	lock := flock.New(filepath.Join(o.Dir, "lock"))
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
	db.ks.keeper.watch(func() bool { return slices.ContainsFunc(db.keys, (*keyspace).holdsReports) })
	return db, nil
}

// openLocked reads the clock first: everything else depends on the time.
func openLocked(o Options, m *mending) (*DB, error) {
	o.keeper = newTimekeeper(o.Now, o.Elapsed, o.Log)
	err := refuseNewer(o.Dir, fileForms)
	if err == nil {
		err = o.keeper.load(o.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	o.Now = o.keeper.now
	if o.mending = m; m != nil {
		// Identities say which files belong to which key.
		if err := m.mendIdentities(o.settings(), KeyID(o.Key)); err != nil {
			return nil, err
		}
	}
	burst, err := newBurstCounter(o.settings())
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(o)
	if err != nil {
		return nil, err
	}
	db := &DB{ks: keys[0], keys: keys, burst: burst, options: o}
	if len(keys) > 1 {
		db.previous = &DB{ks: keys[1], keys: keys[1:]}
	}
	return db, nil
}

// Previous returns the database of Options.PreviousKey alone, for an exchange of its own;
// nil if there is no such key. Whatever changes this one changes it, too. Close ends both,
// and Run does the periodic work of both.
func (db *DB) Previous() *DB { return db.previous }

// each runs f for every keyspace and stops at the first error.
func (db *DB) each(f func(*keyspace) error) error {
	for _, ks := range db.keys {
		if err := f(ks); err != nil {
			return err
		}
	}
	return nil
}

// all runs f for every keyspace, whether or not it fails in one, and joins the errors.
func (db *DB) all(f func(*keyspace) error) (err error) {
	for _, ks := range db.keys {
		err = errors.Join(err, f(ks))
	}
	return err
}

// ready reports why the journal of a keyspace cannot be written, as far as is known.
func (db *DB) ready() error {
	return db.each(func(ks *keyspace) error { return ks.journal.ready() })
}

// Close writes a snapshot and unlocks the folder. No other method may run at the
// same time or follow, except those that only read the filters.
func (db *DB) Close() error {
	if db.ks.closed.Load() {
		return ErrClosed
	}
	err := db.all((*keyspace).close)
	if db.lock != nil {
		err = errors.Join(err, db.ks.keeper.write(true), db.lock.Unlock())
	}
	return err
}

const (
	syncInterval    = time.Second
	saveInterval    = 10 * time.Minute
	saveRetry       = time.Minute
	maxJournalBytes = 64 << 20 // a snapshot is made earlier when the journal is this long
)

// Run does the periodic work until ctx ends, and then returns nil: counts to disk every
// second, generations that expire, snapshots every ten minutes or 64 MiB of journal. Faults
// of the disk are logged, and the work is tried again.
func (db *DB) Run(ctx context.Context) error {
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	var fault string // the last one logged
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
			db.ks.opt.Log.Error("state cannot be written", "error", err)
		case err == nil && fault != "":
			fault = ""
			db.ks.opt.Log.Info("state can be written again")
		}
	}
}

// maintain does the work of one second.
func (db *DB) maintain() error {
	return errors.Join(db.all((*keyspace).tick), db.ks.keeper.write(false))
}

// Fault returns what keeps this site's state from being written, while it lasts. It
// is cheap.
func (db *DB) Fault() error {
	return db.each(func(ks *keyspace) error { return ks.journal.lastFault() })
}
