package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// Bounds of what is taken from outside.
const (
	maxRecord    = bloomdb.MaxDelta // of any record
	maxHeartbeat = 512              // of a heartbeat; the longest has 352 bytes
	maxNews      = 64 << 10         // of a message of the channel: a delta or a heartbeat
)

// Bounds of one read from a stream: what is held at once, and how long news wait
// for it to be applied. A batch may pass batchBytes by one record.
const (
	batchEntries = 64
	batchBytes   = 512 << 10
)

// Errors of a wire. All others are faults of the way there.
var (
	// errMoved says that a stream does not end where this site left it: Redis lost
	// writes (restart, failover, FLUSHALL), or somebody else wrote.
	errMoved = errors.New("the stream does not end where this site left it")
	// errSnapshotLost says that the snapshot, or a chunk that was written for the
	// next one, is not there any more.
	errSnapshotLost = errors.New("the snapshot is not where this site left it")
	// errNoRoom says that Redis is at its maxmemory: it takes nothing, and gives.
	errNoRoom = errors.New("there is no memory left in Redis")
	// errNotOurs says that a key holds something of another type.
	errNotOurs = errors.New("the key holds something else")
)

// wire is the way between the sites. It is Redis; in tests also a simulated log.
// It understands no record, and what it returns was said by anybody. A command
// that failed may have been carried out: each may be given again.
type wire interface {
	// tail is how a site's stream ends, also where it was emptied since.
	tail(ctx context.Context, site string) (streamEnd, error)
	// reclaim moves a site's stream aside, to where nobody reads it, if it still ends
	// with a position, and everything of another type that stands in the place of the
	// site's keys or of those of all sites. Zero: only the latter.
	reclaim(ctx context.Context, site string, end Position) error
	// publish adds a delta to the stream of its site, which must end with before
	// (else errMoved), and spreads it in the news where it is small enough. At most
	// about length deltas are kept.
	publish(ctx context.Context, d bloomdb.Delta, before Position, length int64) error
	// heartbeat keeps and spreads the site's heartbeat. Its stream must end with
	// tail (else errMoved), and the snapshot must be there (else errSnapshotLost);
	// nil: there is none.
	heartbeat(ctx context.Context, site string, record []byte, tail Position, s *place) error
	// read returns the entries after a position: at most batchEntries, about
	// batchBytes; none at the stream's end.
	read(ctx context.Context, site string, after Position) ([]entry, error)
	// spread repeats a heartbeat in the news.
	spread(ctx context.Context, record []byte) error
	// head returns the heartbeat kept of one site; nil: none.
	head(ctx context.Context, site string) ([]byte, error)
	// heads returns the heartbeats kept, of at most maxSites sites, and where their
	// streams end. What can't be one is left out and counted.
	heads(ctx context.Context) (heads []head, bad int, err error)

	// clearSlot empties one of the two slots of a site's snapshots, writeChunk puts
	// chunk i into it, and commit makes it the site's snapshot, if all its chunks
	// are there (else errSnapshotLost).
	clearSlot(ctx context.Context, site string, slot byte) error
	writeChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error
	commit(ctx context.Context, c commit) error
	// manifest and chunk return nil where there is none.
	manifest(ctx context.Context, site string) ([]byte, error)
	chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error)

	writeVotes(ctx context.Context, site string, record []byte) error
	votes(ctx context.Context, site string) ([]byte, error) // nil: none

	// subscribe listens to the channel. Faults come from receive.
	subscribe(ctx context.Context) (subscription, error)
}

// subscription is for one goroutine.
type subscription interface {
	// receive waits at most d, and then returns errQuiet.
	receive(ctx context.Context, d time.Duration) (event, error)
	ping(ctx context.Context) error
	close()
}

var errQuiet = errors.New("nothing was heard")

// event is what a subscription brings: a message, the word that it was
// established (anew), or the answer to a ping.
type event struct {
	message    []byte
	subscribed bool
}

// entry is one entry of a stream as it was found.
type entry struct {
	at     Position
	size   int    // of the record; -1: the entry has none
	record []byte // nil where size is over maxRecord or -1
}

// streamEnd is how a stream ends: nobody but its site should have written that.
type streamEnd struct {
	at     Position // the last id that was ever there; zero: there is no stream
	empty  bool     // no entry stands there
	record []byte   // of the last entry; nil where that holds no record
}

// head is what is kept of a site, to be found by who missed the news.
type head struct {
	site      string
	heartbeat []byte
	tail      Position // zero: there is no stream
}

// place is where a snapshot's chunks stand.
type place struct {
	slot   byte // '0' or '1'
	chunks int
}

// commit makes what stands in a slot the site's snapshot, in one step: the
// manifest and the heartbeat that tells of it are kept, the stream is trimmed up
// to a position, and the other slot is emptied.
type commit struct {
	site      string
	place     place
	manifest  []byte
	heartbeat []byte
	trim      Position // zero: nothing
}
