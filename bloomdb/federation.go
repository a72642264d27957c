package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// What package exchange needs, of the first keyspace: records to send, and records of other
// sites to apply.

// Changed receives when a report or a revocation waits to be published.
func (db *DB) Changed() <-chan struct{} {
	return db.ks.Outbox.Changed()
}

// Head is the (epoch, seq) up to which this site has published: the number of the
// last delta, or a later one that was left out.
func (db *DB) Head() (epoch, seq uint64) {
	return db.ks.Outbox.Head()
}

// NextDelta encodes what changed since the last one: reports and what goes with
// them, and with all set counts too. It returns false when nothing changed, or
// Resume was not yet called. The same delta is returned until Published is told, so
// that a retry can neither lose nor double anything.
func (db *DB) NextDelta(all bool) (wire.Delta, bool, error) {
	return db.ks.Outbox.NextDelta(all)
}

// Published says that the delta stands in the stream and need not be kept. It
// changes nothing when it is not the one that NextDelta returned last.
func (db *DB) Published(d wire.Delta) error {
	return db.ks.Outbox.Published(d)
}

// Resume tells, before the first NextDelta and after every reconnection, which
// (epoch, seq) the stream of this site ends with (zeros: it is empty or gone).
// Where the stream lacks what was published before, a snapshot is due. The caller has
// checked that this site wrote that entry (OwnRecord), or that Tail knows it: an id in
// Redis proves nothing.
func (db *DB) Resume(epoch, seq uint64) error {
	return db.ks.Outbox.Resume(epoch, seq)
}

// Tail is the (epoch, seq) with which the stream ended when this site published last;
// seq 0: with nothing of this life.
func (db *DB) Tail() (epoch, seq uint64) {
	return db.ks.Outbox.Tail()
}

// IsBeyond reports whether (epoch, seq), of a record of this site, is newer than this
// folder: other sites hold an epoch or numbers that it does not continue.
func (db *DB) IsBeyond(epoch, seq uint64) bool {
	return db.ks.Outbox.IsBeyond(epoch, seq)
}

// Outlive takes note of a record of this site at (epoch, seq). If the folder has not given
// that number, the site begins its next epoch, since others would refuse its records. The
// caller has checked that this site made the record (OwnRecord).
func (db *DB) Outlive(epoch, seq uint64) error {
	return db.ks.Outbox.Outlive(epoch, seq)
}

// Heartbeat makes this site's: snapshot and votes are what stands in Redis, wants the
// sites whose snapshot or votes this one misses. Of more than 16 the others wait for
// their turn.
func (db *DB) Heartbeat(snapshot, votes uint64, wants ...string) []byte {
	return db.ks.Outbox.Heartbeat(snapshot, votes, wants...)
}

// NewSnapshot begins a snapshot of all own filters, at the position of now: reports
// first, the newest generation first, counts last. Generations that others would
// refuse, as this site's clock was wrong when they began, are not in it.
func (db *DB) NewSnapshot() *outbox.SnapshotWriter {
	return db.ks.Outbox.NewSnapshot()
}

// SnapshotPublished says that chunks and manifest are where others find them. Where
// another number was left out meanwhile, the snapshot is still due. One that left
// filters out serves all the same, as nothing better can be had. What waits to be
// published goes on waiting: who follows the stream never reads the snapshot.
func (db *DB) SnapshotPublished(w *outbox.SnapshotWriter) error {
	return db.ks.Outbox.SnapshotPublished(w)
}

// SnapshotDue reports whether deltas do not tell other sites everything: a snapshot has to
// be published.
func (db *DB) SnapshotDue() bool {
	return db.ks.Outbox.SnapshotDue()
}

// RestsOn notes durably that a file beside the database holds what this site must not lose.
// From then on Open refuses with a *DamageError if the file is missing or empty. The caller
// has written the file.
func (db *DB) RestsOn(path string) error {
	return db.ks.Outbox.RestsOn(path)
}

// Apply joins another site's delta. Applying one twice, late or out of order
// changes nothing. A record before which something is missing is refused with
// ErrGap unless Order says otherwise, and nothing is changed. Own records are
// ignored. ErrFederation, ErrStranger, ErrUnsigned, ErrTrust, ErrReplayed, ErrClock,
// ErrParameters (both sides' values in the text), ErrFull, or an error that says
// what is torn.
func (db *DB) Apply(data []byte, order peers.Order) error {
	return db.ks.Peers.Apply(data, order)
}

// ApplyChunk joins a manifest's chunk i. Chunks may come in any order and more than
// once. Errors are those of Apply; a chunk of another snapshot is one. Sections that are
// refused for ErrParameters, ErrFull or ErrCapped do not keep the others from being joined.
func (db *DB) ApplyChunk(m wire.Manifest, i int, data []byte) error {
	return db.ks.Peers.ApplyChunk(m, i, data)
}

// FinishSnapshot says that all chunks of a manifest are joined: the cursor goes to
// its position, and what was missing before it is there. What was refused of them, or
// left out of the snapshot, is missing.
func (db *DB) FinishSnapshot(m wire.Manifest) error {
	return db.ks.Peers.FinishSnapshot(m)
}

// Wanting reports whether deltas of a site's present life were lost or refused, and that no
// snapshot has brought them back.
func (db *DB) Wanting(site string) bool {
	return db.ks.Peers.Wanting(site)
}

// Cursor is the (epoch, seq) up to which a site is heard, in its latest life: the
// number of the last delta applied, or the position of a snapshot. Zeros for none.
func (db *DB) Cursor(site string) (epoch, seq uint64) {
	return db.ks.Peers.Cursor(site)
}

// Drops counts the calls of Drop since the start. Who follows streams learns from it
// that a cursor may have gone back to the beginning.
func (db *DB) Drops() uint64 {
	return db.ks.Peers.Drops()
}

// OwnRecord returns the head of a record that this site has made, of a type: the number of
// votes, for example, is no position. ErrUnsigned, with the head, means that a member of
// the federation made it in this site's name: another daemon of this name, or this site
// with an earlier signing key. All errors are ErrUnverified.
func (db *DB) OwnRecord(data []byte, want wire.RecordType) (wire.Head, error) {
	return db.ks.Sealer.OwnRecord(data, want)
}

// ReadHeartbeat checks and reads one. Its clock may be wrong: that is what the
// caller looks at Made for.
func (db *DB) ReadHeartbeat(data []byte) (wire.Heartbeat, error) {
	return db.ks.Sealer.ReadHeartbeat(data)
}

// ReadManifest checks and reads a manifest, of a site that is heard in full.
func (db *DB) ReadManifest(data []byte) (m wire.Manifest, err error) {
	return db.ks.Sealer.ReadManifest(data)
}

// TrustOf is how much a site's word counts here.
func (db *DB) TrustOf(site string) wire.Trust {
	return db.ks.Sealer.TrustOf(site)
}

// HearVotes takes another site's record of votes, of a site whose Trust is TrustVote,
// in the place of the one before, which it keeps when this one is older. Own records
// are ignored. ErrFederation, ErrStranger, ErrUnsigned, ErrClock, ErrParameters,
// ErrReplayed, ErrMuted, or an error that says what is torn or implausible. After an I/O error
// the votes count, and stand in memory only.
func (db *DB) HearVotes(data []byte) error {
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	return db.ks.Votes.Hear(data)
}

// Votes is this site's record of votes, at most 513 KiB, and the stamp that names its
// state: another stamp, other votes. It grows, unless the clock is set
// back. ErrClosed.
func (db *DB) Votes() (data []byte, stamp uint64, err error) {
	if db.ks.Closed.Load() {
		return nil, 0, layout.ErrClosed
	}
	return db.ks.Votes.Encode(db.ks.Outbox.RecordHead(wire.RecordVotes))
}

// VotesStamp is the stamp that Votes would give. It is cheap.
func (db *DB) VotesStamp() uint64 {
	return db.ks.Votes.Stamp()
}

// Muted reports whether a site is muted or dropped here.
func (db *DB) Muted(site string) bool {
	return db.ks.Store.Muted(site)
}
