package bloomdb

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// keyspace is everything that this site holds under one federation key: the filters, and
// with them files, journal, never-list, votes and the state of the exchange. No method of it
// uses another keyspace.
type keyspace struct {
	store
	never   *neverList
	own     *ownVotes
	voters  *voters
	journal *journal
	pub     publisher
	closed  atomic.Bool

	agedTicks int // how often Run saw generations that aged out and are still held

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

	snapshotMu sync.Mutex // one snapshot at a time; guards saved
	saved      map[string]savedState
	lastSave   time.Time // that succeeded, or the start
	triedSave  time.Time
	// journalBase is the journal's size after the last snapshot.
	journalBase atomic.Int64

	measured *measurements
}

// newKeyspace makes an empty keyspace.
func newKeyspace(o Options) *keyspace {
	ks := &keyspace{
		sites:      make(map[origin]*siteState),
		uses:       make(map[siteTarget]*siteUse),
		saved:      make(map[string]savedState),
		measured:   newMeasurements(),
		lastSave:   o.Now(),
		leastParts: minParts,
		mending:    o.mending,
		voters:     newVoters(),
	}
	ks.store.init(o)
	ks.own = newOwnVotes(ks.votesKey(o.Site))
	ks.never = newNeverList(newSipKey(ks.keyed.Sum(purposeNever)))
	return ks
}

// close writes a snapshot. ErrClosed if it was closed before.
func (ks *keyspace) close() error {
	if ks.closed.Swap(true) {
		return ErrClosed
	}
	err := ks.save()
	return errors.Join(err, ks.journal.close(), ks.pub.close(ks.opt.Dir))
}

// tick does the periodic work of one second.
func (ks *keyspace) tick() error {
	ks.expire()
	ks.own.expire(ks.votesGeneration())
	ks.pub.compact()
	err := errors.Join(ks.journal.flush(), ks.journal.list.raiseLater(ks.journal.durable, ks.opt.Now()),
		ks.pub.write(ks.opt.Dir, ks.opt.Now()))
	if ks.saveDue() {
		err = errors.Join(err, ks.save())
	}
	return err
}

// saveDue reports whether it is time for snapshots: by the clock, by the journal's length,
// or since a change is in no journal. After a failure it is true again in a minute.
func (ks *keyspace) saveDue() bool {
	ks.snapshotMu.Lock()
	defer ks.snapshotMu.Unlock()
	now := ks.opt.Now()
	if wait := now.Sub(ks.triedSave); wait >= 0 && wait < saveRetry {
		return false
	}
	age := now.Sub(ks.lastSave)
	return age >= saveInterval || age < 0 || ks.journal.snapshotDue() ||
		ks.journal.bytesFrom(0)-ks.journalBase.Load() > maxJournalBytes
}

// self is this site in its present life.
func (ks *keyspace) self() origin { return origin{ks.opt.Site, ks.pub.epoch()} }
