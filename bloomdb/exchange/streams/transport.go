package streams

import (
	"context"
	"errors"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Bounds on data from outside.
const (
	MaxRecord    = wire.MaxDelta // of any record
	MaxHeartbeat = 512           // of a heartbeat; the longest has 352 bytes
	MaxNews      = 64 << 10      // of a message in the channel: a delta or a heartbeat

	MaxSites = 1024 // names that are read and stored
)

// Bounds of one read from a stream. They limit the memory held and the time for which news
// wait. A batch may exceed batchBytes by one record.
const (
	batchEntries = 64
	batchBytes   = 512 << 10
)

// Errors of a transport. All others are faults of the link.
var (
	// ErrMoved means that a stream does not end where this site left it: Redis lost writes
	// (restart, failover, FLUSHALL), or another client wrote.
	ErrMoved = errors.New("stream does not end where this site left it: Redis came back empty or with older data, or another client wrote")
	// ErrSnapshotLost means that the snapshot, or a chunk written for the next one, has
	// disappeared.
	ErrSnapshotLost = errors.New("snapshot has disappeared from Redis")
	// ErrNoRoom means that Redis has reached its maxmemory: it refuses writes, but answers
	// reads.
	ErrNoRoom = errors.New("out of memory at Redis")
	// ErrNotOurs means that a key contains data of another type.
	ErrNotOurs = errors.New("key contains other data")
	// ErrOversize means that a record has more than MaxRecord bytes.
	ErrOversize = errors.New("record is too large")
)

// Transport connects the sites: Redis, or a simulated log in tests. It does not interpret
// records, and anyone may have written what it returns. A command that failed may have been
// carried out; every command may be repeated.
type Transport interface {
	// Tail returns the end of a site's stream, even if it was emptied since.
	Tail(ctx context.Context, site string) (End, error)
	// Reclaim moves a site's stream aside, to where it is not read, if it still ends with a
	// position. It also moves any data of another type in the place of the site's keys or
	// of the keys of all sites. Zero: only the latter.
	Reclaim(ctx context.Context, site string, end Position) error
	// Publish adds a delta to the stream of its site, which must end with before (else
	// ErrMoved). If the delta is small enough, Publish also sends it as news. About length
	// deltas are kept at most.
	Publish(ctx context.Context, d wire.Delta, before Position, length int64) error
	// Heartbeat stores and sends the site's heartbeat. Its stream must end with tail (else
	// ErrMoved), and the snapshot must exist (else ErrSnapshotLost); nil: there is none.
	Heartbeat(ctx context.Context, site string, record []byte, tail Position, s *Place) error
	// Read returns the entries after a position: at most batchEntries, about batchBytes;
	// none at the stream's end.
	Read(ctx context.Context, site string, after Position) ([]Entry, error)
	// Spread repeats a heartbeat in the news.
	Spread(ctx context.Context, record []byte) error
	// Head returns the stored heartbeat of one site; nil: none.
	Head(ctx context.Context, site string) ([]byte, error)
	// Heads returns the stored heartbeats of at most MaxSites sites, and where their
	// streams end. Invalid ones are omitted and counted. If there are more, the next call
	// returns others.
	Heads(ctx context.Context) (heads []Head, bad int, err error)

	// ClearSlot empties one of the two slots of a site's snapshots, WriteChunk writes chunk
	// i into it, and Commit makes it the site's snapshot if all its chunks exist (else
	// ErrSnapshotLost).
	ClearSlot(ctx context.Context, site string, slot byte) error
	WriteChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error
	Commit(ctx context.Context, c Commit) error
	// Manifest and Chunk return nil if there is none.
	Manifest(ctx context.Context, site string) ([]byte, error)
	Chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error)

	WriteVotes(ctx context.Context, site string, record []byte) error
	Votes(ctx context.Context, site string) ([]byte, error) // nil: none

	// Subscribe listens to the channel. Faults are returned by Receive.
	Subscribe(ctx context.Context) (Subscription, error)
}

// Subscription receives what the channel carries, for one goroutine.
type Subscription interface {
	// Receive waits at most d, and then returns ErrQuiet.
	Receive(ctx context.Context, d time.Duration) (Event, error)
	Ping(ctx context.Context) error
	Close()
}

// ErrQuiet means that a wait has ended without anything received.
var ErrQuiet = errors.New("nothing was received")

// Event is one result of a subscription: a message, the confirmation of a (re)subscription,
// or the answer to a ping.
type Event struct {
	Message    []byte
	Subscribed bool
}

// Entry is one entry of a stream as it was found.
type Entry struct {
	At     Position
	Size   int    // of the record; -1: the entry has none
	Record []byte // nil if Size is -1 or exceeds MaxRecord
}

// End describes the end of a stream, which only its site should have written.
type End struct {
	At     Position // the last id that ever existed; zero: there is no stream
	Empty  bool     // no entry exists
	Record []byte   // of the last entry; nil if that contains no record
}

// Head is the stored state of a site, for sites that missed the news.
type Head struct {
	Site      string
	Heartbeat []byte
	Tail      Position // zero: there is no stream
}

// Place is the location of a snapshot's chunks.
type Place struct {
	Slot   byte // FirstSlot or SecondSlot
	Chunks int
}

// Commit makes the content of a slot the site's snapshot, in one step. It stores the
// manifest and the heartbeat that announces it, trims the stream up to a position, and
// empties the other slot.
type Commit struct {
	Site      string
	Place     Place
	Manifest  []byte
	Heartbeat []byte
	Trim      Position // zero: no trimming
}
