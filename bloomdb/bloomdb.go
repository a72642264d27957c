package bloomdb

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
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

// DB is what this site knows. All methods are safe for concurrent use, except
// Close, which must be the last.
type DB struct {
	opt          Options
	keyed        *signature.Keyed
	keyID        [8]byte
	lock         *flock.Flock // of the state folder; nil: another DB has it
	previous     *DB          // under Options.PreviousKey; nil: none
	journal      *journal
	spamShape    filter.BitsShape
	revokedShape filter.BitsShape
	countsShape  filter.CountsShape
	classShape   filter.BitsShape
	sketchShape  filter.BitsShape
	sipKeys      map[signature.Kind]sipKey
	closed       atomic.Bool

	view   atomic.Pointer[view]
	viewMu sync.Mutex // serialises changes of the view's structure

	agedTicks int // how often Run saw generations that aged out and are still held

	classesLost  atomic.Int64 // the last generation whose class filter was full
	sketchesLost atomic.Int64 // the last generation whose sketch filter was full

	burst    *burstCounter // nil: none
	greylist greylist

	never   *neverList
	neverMu sync.Mutex // held by the one who changes the never-list and its files

	retouchMu sync.Mutex // held by the one who changes masks; taken before the journal's

	drops      atomic.Uint64 // see Drops
	sitesMu    sync.Mutex    // guards sites and uses; held while a delta is applied
	sites      map[origin]*siteState
	uses       map[siteTarget]*siteUse
	leastParts int64 // see partsLimit
	// blockCells are those of the last block that was installed; sitesMu guards them.
	blockCells []filter.Cell

	asideMu     sync.Mutex    // guards aside and domainsLost, and saved while Open reads files
	aside       []DamagedFile // see DamagedFiles
	domainsLost bool          // counts of link domains were damaged: they begin anew
	mending     *mending      // while Repair opens the folder; else nil

	own      *ownVotes
	votersMu sync.Mutex // held by the one who changes voters
	voters   atomic.Pointer[[]*voter]

	pub publisher

	snapshotMu sync.Mutex // one snapshot at a time; guards saved
	saved      map[string]savedState
	lastSave   time.Time // that succeeded, or the start
	triedSave  time.Time
	// journalBase is the journal's size after the last snapshot.
	journalBase atomic.Int64

	measuredMu    sync.Mutex // guards what follows
	measured      map[measuredFilter]measuredError
	measuredParts map[measuredPart]measuredError
}

// Open locks Dir, validates all that is in it, replays the journal, and names
// file and offset of what is wrong. ErrLocked when another process has it,
// ErrIdentity when the options are not those with which the folder was made; a
// *DamageError for a file that is not as it was written; ErrNewer for one that a newer
// version made.
//
// With Options.PreviousKey it opens two databases, see Previous. The first time, that of
// Key is made. Without PreviousKey, a key that was rolled over to is found by itself.
func Open(o Options) (*DB, error) { return open(o, nil) }

// open opens the folder, and repairs it where m is not nil.
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
	o.keeper = newTimekeeper(&o)
	err := refuseNewer(o.Dir)
	if err == nil {
		err = o.keeper.load(o.Dir)
	}
	if err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("state folder: %w", err)
	}
	o.Now = o.keeper.now
	db, err := openMended(o, m)
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	db.lock = lock
	o.keeper.watch(db.holdsReports)
	return db, nil
}

// openMended repairs the identities first: they say which files are whose.
func openMended(o Options, m *mending) (*DB, error) {
	if m != nil {
		if err := m.mendIdentities(&o); err != nil {
			return nil, err
		}
	}
	o.mending = m
	return openAll(o)
}

// newDB makes an empty database.
func newDB(o Options) (*DB, error) {
	db := &DB{
		opt:           o,
		keyed:         signature.NewKeyed(o.Key[:]),
		spamShape:     o.spamShape(),
		revokedShape:  o.revokedShape(),
		countsShape:   o.countsShape(),
		classShape:    o.classShape(),
		sketchShape:   o.sketchShape(),
		sites:         make(map[origin]*siteState),
		uses:          make(map[siteTarget]*siteUse),
		saved:         make(map[string]savedState),
		measured:      make(map[measuredFilter]measuredError),
		measuredParts: make(map[measuredPart]measuredError),
		lastSave:      o.Now(),
		leastParts:    minParts,
		mending:       o.mending,
	}
	db.sipKeys = sketchSipKeys(db.keyed)
	var err error
	if db.burst, err = newBurstCounter(&o); err != nil {
		return nil, err
	}
	id, _ := hex.DecodeString(KeyID(o.Key))
	db.keyID = [8]byte(id)
	db.view.Store(&view{trusted: &trustedSites{members: o.Members}})
	db.own = newOwnVotes(db.votesKey(o.Site))
	db.voters.Store(new([]*voter))
	db.never = newNeverList(newSipKey(db.keyed.Sum(purposeNever)))
	return db, nil
}

// Close writes a snapshot and unlocks the folder. No other method may run at the
// same time or follow, except those that only read the filters.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return ErrClosed
	}
	err := db.save()
	err = errors.Join(err, db.journal.close(), db.pub.close(db.opt.Dir))
	if db.previous != nil {
		err = errors.Join(err, db.previous.Close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.opt.keeper.write(true), db.lock.Unlock())
	}
	return err
}

const (
	syncInterval    = time.Second
	saveInterval    = 10 * time.Minute
	saveRetry       = time.Minute
	maxJournalBytes = 64 << 20 // a snapshot is made earlier when the journal is this long
)

// Run does the periodic work until ctx ends: counts to disk every second,
// generations that age out, snapshots every ten minutes or 64 MiB of journal; of the
// previous key's database, too. It returns nil at ctx's end. Faults of the disk are logged and tried again.
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
			db.opt.Log.Error("state cannot be written", "error", err)
		case err == nil && fault != "":
			fault = ""
			db.opt.Log.Info("state can be written again")
		}
	}
}

func (db *DB) maintain() error {
	db.expire()
	db.own.expire(db.votesGeneration())
	db.pub.compact()
	err := errors.Join(db.journal.flush(), db.journal.list.raiseLater(db.journal.durable, db.opt.Now()),
		db.pub.write(db.opt.Dir, db.opt.Now()), db.opt.keeper.write(false))
	if db.saveDue() {
		err = errors.Join(err, db.save())
	}
	if db.previous != nil {
		err = errors.Join(err, db.previous.maintain())
	}
	return err
}

// saveDue says that it is time for snapshots: by the clock, by the journal's
// length, or since something stands in no journal. What failed is tried again
// after a minute.
func (db *DB) saveDue() bool {
	db.snapshotMu.Lock()
	defer db.snapshotMu.Unlock()
	now := db.opt.Now()
	if wait := now.Sub(db.triedSave); wait >= 0 && wait < saveRetry {
		return false
	}
	age := now.Sub(db.lastSave)
	return age >= saveInterval || age < 0 || db.journal.snapshotDue() ||
		db.journal.bytesFrom(0)-db.journalBase.Load() > maxJournalBytes
}

// Fault is what keeps this site's state from being written, while it lasts. It
// is cheap.
func (db *DB) Fault() error {
	return db.inOrder(func(d *DB) error { return d.journal.lastFault() })
}

// self is this site in its present life.
func (db *DB) self() origin { return origin{db.opt.Site, db.pub.epoch()} }
