package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Names of the packages below that callers of a DB need.
type (
	Class         = layout.Class
	ReportOptions = layout.ReportOptions
	CountOptions  = layout.CountOptions
	DomainOptions = layout.DomainOptions

	Delta          = wire.Delta
	Head           = wire.Head
	Heartbeat      = wire.Heartbeat
	Manifest       = wire.Manifest
	Member         = wire.Member
	Members        = wire.Members
	RecordType     = wire.RecordType
	Trust          = wire.Trust
	Order          = peers.Order
	SnapshotWriter = outbox.SnapshotWriter

	Trace            = keyspace.Trace
	Trail            = keyspace.Trail
	SketchTrace      = keyspace.SketchTrace
	SketchTrail      = keyspace.SketchTrail
	VoteTrail        = vote.Trail
	Burst            = recent.Burst
	NeverEntry       = never.Declared
	Retouching       = keyspace.Retouching
	RetouchedListing = keyspace.RetouchedListing
	RetouchedKey     = keyspace.RetouchedKey

	Status       = keyspace.Status
	FilterStatus = keyspace.FilterStatus
	NeverStatus  = keyspace.NeverStatus
	SiteStatus   = peers.Status
	VotesStatus  = vote.Status
	VoterStatus  = vote.SiteStatus
	BurstStatus  = recent.Status
	ClockStatus  = clock.Status

	DamageError = folder.DamageError
	DamagedFile = folder.DamagedFile
	Repaired    = repair.Repaired
)

// The classes of reports.
const (
	ClassOther   = layout.ClassOther
	ClassMalware = layout.ClassMalware
	ClassPhish   = layout.ClassPhish
	ClassScam    = layout.ClassScam
	ClassBulk    = layout.ClassBulk
)

// How much another site is trusted.
const (
	TrustFull = wire.TrustFull
	TrustVote = wire.TrustVote
	TrustNone = wire.TrustNone
)

// The types of records.
const (
	RecordDelta     = wire.RecordDelta
	RecordChunk     = wire.RecordChunk
	RecordManifest  = wire.RecordManifest
	RecordHeartbeat = wire.RecordHeartbeat
	RecordVotes     = wire.RecordVotes
)

// What is known of the deltas before a record, see Apply.
const (
	Next    = peers.Next
	Skipped = peers.Skipped
	Lost    = peers.Lost
)

// MaxDelta is the size in bytes that no record exceeds.
const MaxDelta = wire.MaxDelta

// Errors that callers branch on.
var (
	ErrNothing    = keyspace.ErrNothing
	ErrNever      = never.ErrNever
	ErrFull       = layout.ErrFull
	ErrClosed     = layout.ErrClosed
	ErrIdentity   = layout.ErrIdentity
	ErrParameters = layout.ErrParameters
	ErrClock      = layout.ErrClock
	ErrNewer      = layout.ErrNewer
	ErrFederation = wire.ErrFederation
	ErrGap        = wire.ErrGap
	ErrStranger   = wire.ErrStranger
	ErrUnsigned   = wire.ErrUnsigned
	ErrUnverified = wire.ErrUnverified
	ErrTrust      = wire.ErrTrust
	ErrReplayed   = wire.ErrReplayed
	ErrMuted      = wire.ErrMuted
	ErrCapped     = wire.ErrCapped
)

// Classes lists all classes in the order in which they are shown.
func Classes() []Class { return layout.Classes() }

// ParseClass reads a class's name. The empty name is ClassOther.
func ParseClass(name string) (Class, error) { return layout.ParseClass(name) }

// ValidSite reports whether a site may have this name: 1 to 64 characters of a-z A-Z 0-9
// . _ -, no dot first.
func ValidSite(name string) bool { return layout.ValidSite(name) }

// DecodeHead reads a record's head. It proves nothing: the method that applies the record
// checks it. Its errors are ErrUnverified.
func DecodeHead(data []byte) (Head, error) { return wire.DecodeHead(data) }
