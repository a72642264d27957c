package ledger

import (
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
	"github.com/spambloom/spambloom/reporting/ledger/search"
	"github.com/spambloom/spambloom/reporting/ledger/store"
)

// Types of the packages below that users of a Ledger need.
type (
	Stance   = record.Stance
	Action   = record.Action
	State    = record.State
	Weight   = record.Weight
	Anchors  = record.Anchors
	Likeness = record.Likeness
	Act      = record.Act
	Report   = search.Report
	Query    = search.Query
	Standing = search.Standing
	Turn     = search.Turn
	Backing  = search.Backing
	Copy     = store.Copy
	Repaired = salvage.Repaired
)

// Settler is the reporter in whose name an administrator settles a message.
const Settler = record.Settler

// The stances, the actions and the states.
const (
	Spam = record.Spam
	Ham  = record.Ham

	None   = record.None
	List   = record.List
	Revoke = record.Revoke

	Counts    = record.Counts
	Held      = record.Held
	Renewed   = record.Renewed
	Withdrawn = record.Withdrawn
	Refuted   = record.Refuted
)

// Errors of Open, which leaves the file as it is, and of everything after Close.
var (
	ErrDamaged = record.ErrDamaged
	ErrVersion = record.ErrVersion
	ErrClosed  = store.ErrClosed
)

var CheckVersion = salvage.CheckVersion // returns an error that wraps ErrVersion if a newer version wrote a file
