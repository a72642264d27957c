package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Bounds on data from outside.
const (
	maxRecord    = wire.MaxDelta // of any record
	maxHeartbeat = 512           // of a heartbeat; the longest has 352 bytes
	maxNews      = 64 << 10      // of a message in the channel: a delta or a heartbeat
)

// Bounds of one read from a stream. They limit the memory held and the time for which news
// wait. A batch may exceed batchBytes by one record.
const (
	batchEntries = 64
	batchBytes   = 512 << 10
)

// Errors of a transport. All others are faults of the link.
var (
	// errMoved means that a stream does not end where this site left it: Redis lost writes
	// (restart, failover, FLUSHALL), or another client wrote.
	errMoved = errors.New("stream does not end where this site left it")
	// errSnapshotLost means that the snapshot, or a chunk written for the next one, has
	// disappeared.
	errSnapshotLost = errors.New("snapshot has disappeared from Redis")
	// errNoRoom means that Redis has reached its maxmemory: it refuses writes, but answers
	// reads.
	errNoRoom = errors.New("out of memory at Redis")
	// errNotOurs means that a key contains data of another type.
	errNotOurs = errors.New("key contains other data")
)

// transport connects the sites: Redis, or a simulated log in tests. It does not interpret
// records, and anyone may have written what it returns. A command that failed may have been
// carried out; every command may be repeated.
type transport interface {
	// tail returns the end of a site's stream, even if it was emptied since.
	tail(ctx context.Context, site string) (streamEnd, error)
	// reclaim moves a site's stream aside, to where it is not read, if it still ends with a
	// position. It also moves any data of another type in the place of the site's keys or
	// of the keys of all sites. Zero: only the latter.
	reclaim(ctx context.Context, site string, end Position) error
	// publish adds a delta to the stream of its site, which must end with before (else
	// errMoved). If the delta is small enough, publish also sends it as news. About length
	// deltas are kept at most.
	publish(ctx context.Context, d wire.Delta, before Position, length int64) error
	// heartbeat stores and sends the site's heartbeat. Its stream must end with tail (else
	// errMoved), and the snapshot must exist (else errSnapshotLost); nil: there is none.
	heartbeat(ctx context.Context, site string, record []byte, tail Position, s *place) error
	// read returns the entries after a position: at most batchEntries, about batchBytes;
	// none at the stream's end.
	read(ctx context.Context, site string, after Position) ([]entry, error)
	// spread repeats a heartbeat in the news.
	spread(ctx context.Context, record []byte) error
	// head returns the stored heartbeat of one site; nil: none.
	head(ctx context.Context, site string) ([]byte, error)
	// heads returns the stored heartbeats of at most maxSites sites, and where their
	// streams end. Invalid ones are omitted and counted.
	heads(ctx context.Context) (heads []head, bad int, err error)

	// clearSlot empties one of the two slots of a site's snapshots, writeChunk writes chunk
	// i into it, and commit makes it the site's snapshot if all its chunks exist (else
	// errSnapshotLost).
	clearSlot(ctx context.Context, site string, slot byte) error
	writeChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error
	commit(ctx context.Context, c commit) error
	// manifest and chunk return nil if there is none.
	manifest(ctx context.Context, site string) ([]byte, error)
	chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error)

	writeVotes(ctx context.Context, site string, record []byte) error
	votes(ctx context.Context, site string) ([]byte, error) // nil: none

	// subscribe listens to the channel. Faults are returned by receive.
	subscribe(ctx context.Context) (subscription, error)
}

// subscription is for one goroutine.
type subscription interface {
	// receive waits at most d, and then returns errQuiet.
	receive(ctx context.Context, d time.Duration) (event, error)
	ping(ctx context.Context) error
	close()
}

var errQuiet = errors.New("nothing was received")

// event is one result of a subscription: a message, the confirmation of a (re)subscription,
// or the answer to a ping.
type event struct {
	message    []byte
	subscribed bool
}

// entry is one entry of a stream as it was found.
type entry struct {
	at     Position
	size   int    // of the record; -1: the entry has none
	record []byte // nil if size is -1 or exceeds maxRecord
}

// streamEnd describes the end of a stream, which only its site should have written.
type streamEnd struct {
	at     Position // the last id that ever existed; zero: there is no stream
	empty  bool     // no entry exists
	record []byte   // of the last entry; nil if that contains no record
}

// head is the stored state of a site, for sites that missed the news.
type head struct {
	site      string
	heartbeat []byte
	tail      Position // zero: there is no stream
}

// place is the location of a snapshot's chunks.
type place struct {
	slot   byte // '0' or '1'
	chunks int
}

// commit makes the content of a slot the site's snapshot, in one step. It stores the
// manifest and the heartbeat that announces it, trims the stream up to a position, and
// empties the other slot.
type commit struct {
	site      string
	place     place
	manifest  []byte
	heartbeat []byte
	trim      Position // zero: no trimming
}
