package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/backup"
	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/explain"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/judging"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/bloomdb/status"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// Types of the packages below that callers of a DB need.
type (
	Class         = layout.Class
	Turn          = layout.Turn
	ReportOptions = layout.ReportOptions
	CountOptions  = layout.CountOptions
	DomainOptions = layout.DomainOptions

	Evidence    = judging.Evidence
	Match       = judging.Match
	DomainTrace = judging.DomainTrace

	Trace       = explain.Trace
	Trail       = explain.Trail
	Contest     = explain.Contest
	SketchTrace = explain.SketchTrace
	SketchTrail = explain.SketchTrail
	VoteTrail   = vote.Trail
	Burst       = recent.Burst
	NeverEntry  = never.Declared
	Retouching  = keyspace.Retouching

	Status      = status.Status
	SiteStatus  = peers.Status
	ClockStatus = clock.Status

	Backup      = backup.Backup
	DamageError = folder.DamageError
	DamagedFile = folder.DamagedFile
)

// The classes of reports.
const (
	ClassOther   = layout.ClassOther
	ClassMalware = layout.ClassMalware
	ClassPhish   = layout.ClassPhish
	ClassScam    = layout.ClassScam
	ClassBulk    = layout.ClassBulk
)

// Next is the order of a delta before which no other one may be missing, see Apply.
const Next = peers.Next

// Errors that callers branch on.
var (
	ErrNothing = keyspace.ErrNothing
	ErrNever   = never.ErrNever
	ErrFull    = layout.ErrFull
	// ErrContested is an ErrFull that concerns messages which were reported and revoked.
	ErrContested = layout.ErrContested
	ErrClosed    = layout.ErrClosed
	ErrIdentity  = layout.ErrIdentity
	ErrNewer     = layout.ErrNewer
)

// Classes lists all classes in the order in which they are shown.
func Classes() []Class { return layout.Classes() }

// ParseClass returns the class with a name. The empty name is ClassOther.
func ParseClass(name string) (Class, error) { return layout.ParseClass(name) }

// ValidSite reports whether a name is valid for a site: 1 to 64 characters of
// a-z A-Z 0-9 . _ -, not beginning with a dot.
func ValidSite(name string) bool { return layout.ValidSite(name) }
