package bloomdb

import (
	"crypto/ed25519"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// keyspace is everything that this site holds under one federation key: the filters, and
// with them files, journal, never-list, votes and the state of the exchange. No method of it
// uses another keyspace.
type keyspace struct {
	opt      *settings
	ring     *ring
	sealer   *sealer
	store    *store
	sketches *sketches
	never    *neverList
	votes    *votes
	journal  *journal
	pub      *publisher
	peers    *peers
	files    *fileSet
	keeper   *timekeeper
	newFile  func(path string) (segmentFile, error) // see Options
	closed   atomic.Bool

	snapshotMu sync.Mutex // one snapshot at a time; guards files.saved
	lastSave   time.Time  // that succeeded, or the start
	triedSave  time.Time
	// journalBase is the journal's size after the last snapshot.
	journalBase atomic.Int64
}

// config is what a keyspace is made of.
type config struct {
	settings   *settings
	key        [32]byte
	members    Members
	signingKey ed25519.PrivateKey // nil: records prove membership only
	keeper     *timekeeper
	mending    *mending                               // nil: nothing is repaired
	newFile    func(path string) (segmentFile, error) // of the journal; nil: of the operating system
}

// newKeyspace makes an empty keyspace.
func newKeyspace(o config) *keyspace {
	opt, r := o.settings, newRing(o.key)
	ks := &keyspace{opt: opt, ring: r, store: newStore(opt, r, o.members), keeper: o.keeper, newFile: o.newFile, lastSave: opt.Now()}
	ks.sealer = &sealer{opt: opt, ring: r, members: o.members, signingKey: o.signingKey, witness: ks.witness}
	ks.sketches = newSketches(ks.store)
	ks.pub = &publisher{opt: opt, sealer: ks.sealer, store: ks.store}
	ks.peers = newPeers(ks.sealer, ks.store, ks.pub)
	ks.votes = newVotes(ks.sealer, ks.store)
	ks.files = &fileSet{opt: opt, mending: o.mending, saved: make(map[string]savedState)}
	ks.never = newNeverList(newSipKey(r.keyed.Sum(purposeNever)))
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

// expire drops expired generations, and the cursors of sites of which nothing is held any more.
func (ks *keyspace) expire() {
	if ks.store.expire() {
		ks.peers.forget()
	}
}

// tick does the periodic work of one second.
func (ks *keyspace) tick() error {
	ks.expire()
	ks.votes.own.expire(ks.opt.votesGeneration())
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
func (p *publisher) self() origin { return origin{p.opt.Site, p.epoch()} }
