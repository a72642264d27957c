package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Methods for package exchange. They use the first keyspace only: records to publish, and
// records of other sites to apply.

// Changed returns a channel that receives when a report or a revocation is pending.
func (db *DB) Changed() <-chan struct{} { return db.ks.Outbox.Changed() }

// Head returns the (epoch, seq) up to which this site has published: the number of the last
// delta, or a later number that was skipped.
func (db *DB) Head() (epoch, seq uint64) { return db.ks.Outbox.Head() }

// NextDelta encodes the changes since the last delta: reports and revocations, and with all
// set, counts too. It returns false if nothing has changed, or before the first Resume. Until
// Published confirms the delta, NextDelta returns the same one, so a retry neither loses nor
// duplicates changes.
func (db *DB) NextDelta(all bool) (wire.Delta, bool, error) { return db.ks.Outbox.NextDelta(all) }

// Published confirms that a delta is in the stream. It ignores a delta other than the one that
// NextDelta returned last.
func (db *DB) Published(d wire.Delta) error { return db.ks.Outbox.Published(d) }

// Resume sets the (epoch, seq) of the last entry of this site's stream (zeros: the stream is
// empty or lost). The caller calls it before the first NextDelta and after every reconnection.
// If the stream lacks published deltas, a snapshot becomes due. Anybody with access to Redis
// can write an entry id, so the caller has verified the entry first (OwnRecord), or compared
// the id with Tail.
func (db *DB) Resume(epoch, seq uint64) error { return db.ks.Outbox.Resume(epoch, seq) }

// BeginEpoch begins this site's next epoch. The caller has found another delta of this site under the
// number of the one that NextDelta returned: another daemon of the same name and key runs, or ran.
func (db *DB) BeginEpoch() error { return db.ks.Outbox.BeginEpoch() }

// Tail returns the (epoch, seq) of the last entry of the stream when this site published last.
// If seq is 0, the stream contained nothing of this epoch.
func (db *DB) Tail() (epoch, seq uint64) { return db.ks.Outbox.Tail() }

// IsBeyond reports whether (epoch, seq), from a record of this site, is newer than this folder:
// other sites hold an epoch or numbers that it does not continue.
func (db *DB) IsBeyond(epoch, seq uint64) bool { return db.ks.Outbox.IsBeyond(epoch, seq) }

// Supersede makes this site's position newer than its record at (epoch, seq). If the folder has
// not assigned that number, the site begins its next epoch, because other sites would reject
// its records as stale. The caller has verified that this site made the record (OwnRecord).
func (db *DB) Supersede(epoch, seq uint64) error { return db.ks.Outbox.Supersede(epoch, seq) }

// Heartbeat encodes this site's heartbeat: snapshot and votes are the positions of its records
// in Redis, and wants are the sites whose snapshot or votes it requests. It requests at most
// 16 sites at a time.
func (db *DB) Heartbeat(snapshot, votes uint64, wants ...string) []byte {
	return db.ks.Outbox.Heartbeat(snapshot, votes, wants...)
}

// NewSnapshot begins a snapshot of all own filters at the current position: reports first,
// newest generation first; then counts. It skips generations that begin in the future, because
// other sites would reject them.
func (db *DB) NewSnapshot() *outbox.SnapshotWriter { return db.ks.Outbox.NewSnapshot() }

// SnapshotPublished confirms that other sites can read chunks and manifest. The snapshot stays
// due if a number was skipped since it was begun. A snapshot without all filters also counts as
// published, because no larger one is possible. Pending changes stay pending: sites that follow
// the stream do not read the snapshot.
func (db *DB) SnapshotPublished(w *outbox.SnapshotWriter) error {
	return db.ks.Outbox.SnapshotPublished(w)
}

// SnapshotDue reports whether a snapshot must be published, because deltas do not contain all
// changes.
func (db *DB) SnapshotDue() bool { return db.ks.Outbox.SnapshotDue() }

// AddCompanion records durably that a file beside the database contains data of this site that
// must not be lost. If the file is missing or empty, Open then returns a *DamageError. The
// caller has written the file. See outbox.AddCompanion.
func (db *DB) AddCompanion(path string, last func() uint64, mend func(fault error) error) error {
	return db.ks.Outbox.AddCompanion(path, last, mend)
}

// Apply joins another site's delta. A delta that is applied twice, late or out of order changes
// nothing more. After a gap, Apply returns ErrGap and changes nothing, unless order permits the
// gap. It ignores this site's own deltas. Errors: ErrFederation, ErrStranger, ErrUnsigned,
// ErrTrust, ErrReplayed, ErrMuted, ErrClock, ErrParameters (with the values of both sites),
// ErrFull, ErrCapped, or an error that describes the malformed part.
func (db *DB) Apply(data []byte, order peers.Order) error {
	return db.ks.Peers.Apply(data, order)
}

// ApplyChunk joins chunk i of a manifest. Chunks may be applied in any order and repeatedly.
// Errors are those of Apply; a chunk of another snapshot is rejected, too. If a section is
// rejected with ErrParameters, ErrFull or ErrCapped, the other sections are joined all the same.
func (db *DB) ApplyChunk(m wire.Manifest, i int, data []byte) error {
	return db.ks.Peers.ApplyChunk(m, i, data)
}

// FinishSnapshot moves the site's cursor to the position of a manifest. The caller has applied
// all its chunks. Earlier deltas then no longer count as missing, unless sections were rejected
// or the snapshot is incomplete.
func (db *DB) FinishSnapshot(m wire.Manifest) error {
	return db.ks.Peers.FinishSnapshot(m)
}

// Wanting reports whether deltas of a site's current epoch were lost or rejected, and no
// snapshot has supplied them.
func (db *DB) Wanting(site string) bool {
	return db.ks.Peers.Wanting(site)
}

// Refused reports whether deltas are still missing although a finished snapshot reaches beyond all
// of them: parts of it were rejected, or it is incomplete.
func (db *DB) Refused(m wire.Manifest) bool { return db.ks.Peers.Refused(m) }

// Cursor returns the (epoch, seq) up to which the records of a site are applied, in its latest
// epoch: the number of the last delta, or the position of a snapshot. Zeros: none is applied.
func (db *DB) Cursor(site string) (epoch, seq uint64) { return db.ks.Peers.Cursor(site) }

// Drops changes when a site's cursor may be back at the beginning: it was dropped, or this site's
// clock was ahead.
func (db *DB) Drops() uint64 { return db.ks.Peers.Drops() }

// OwnRecord verifies a record of this site, and returns its head. want is the expected type:
// the number of a record of votes, for example, is not a position. For a record in this site's
// name without its signature, it returns the head and ErrUnsigned: another daemon uses the same
// name, or this site used an earlier signing key. All errors are ErrUnverified.
func (db *DB) OwnRecord(data []byte, want wire.RecordType) (wire.Head, error) {
	return db.ks.Sealer.OwnRecord(data, want)
}

// ReadHeartbeat verifies and decodes a heartbeat. It does not check the time at which the
// heartbeat was made: the caller compares Made with its own clock.
func (db *DB) ReadHeartbeat(data []byte) (wire.Heartbeat, error) {
	return db.ks.Sealer.ReadHeartbeat(data)
}

// ReadManifest verifies and decodes a manifest of a fully trusted site.
func (db *DB) ReadManifest(data []byte) (m wire.Manifest, err error) {
	return db.ks.Sealer.ReadManifest(data)
}

// TrustOf returns how much a site is trusted.
func (db *DB) TrustOf(site string) wire.Trust {
	return db.ks.Sealer.TrustOf(site)
}

// ApplyVotes verifies a record of votes and stores it. Its site must have TrustVote. The record
// replaces the site's previous one; an older record, or one of this site, is ignored. Errors:
// ErrFederation, ErrStranger, ErrUnsigned, ErrClock, ErrParameters, ErrReplayed, ErrMuted, or an
// error that describes the malformed part. After an I/O error the votes count, but are in
// memory only.
func (db *DB) ApplyVotes(data []byte) error {
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	return db.ks.Votes.Accept(data)
}

// Votes returns this site's record of votes, at most 513 KiB, and the stamp of its state. A
// different stamp means different votes. Stamps grow, unless the clock is set back. Error:
// ErrClosed.
func (db *DB) Votes() (data []byte, stamp uint64, err error) {
	if db.ks.Closed.Load() {
		return nil, 0, layout.ErrClosed
	}
	return db.ks.Votes.Encode(db.ks.Outbox.RecordHead(wire.RecordVotes))
}

// VotesStamp returns the stamp that Votes would return. It is cheap.
func (db *DB) VotesStamp() uint64 {
	return db.ks.Votes.Stamp()
}

// Muted reports whether a site is muted or dropped.
func (db *DB) Muted(site string) bool {
	return db.ks.Store.Muted(site)
}
