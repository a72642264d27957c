// Package record contains the records of the ledger and their form in the file (FORMAT.md,
// in the folder above): reports, tallies with their opinions, reporters, shares and
// decisions, and which parts of a message have the quorum. Everything is pure: the package
// owns no file, no locks and no rules of who may report. Decoders believe no number: each is
// bounded before memory is taken.
package record

import (
	"errors"
	"math"
)

// Errors of a file, which is left as it is.
var (
	ErrDamaged = errors.New("damaged, or no ledger")
	ErrVersion = errors.New("made by another version")
)

// Weight is a weight in thousandths, so that sums are exact.
type Weight int64

// NewWeight rounds down, so that what is below the quorum stays below it.
func NewWeight(w float64) Weight { return Weight(math.Floor(w*1000 + 1e-6)) }

// Float returns the weight as package trust has it.
func (w Weight) Float() float64 { return float64(w) / 1000 }

// Stance is a reporter's statement about a message.
type Stance uint8

// The two stances.
const (
	Spam Stance = iota // a report
	Ham                // a revocation
)

// Action is the sort of a decision.
type Action uint8

// The actions.
const (
	None   Action = iota
	List          // put the message into the spam filter
	Revoke        // put it into the revocation filter
)

// State is the effect of a report.
type State string

// The states.
const (
	Counts    State = "counts"    // it is in the tallies
	Held      State = "held"      // it counts, and lists nothing until a second reporter agrees
	Renewed   State = "renewed"   // the reporter repeated it later, and that report counts
	Withdrawn State = "withdrawn" // the reporter said the opposite later, or it was undone
	Refuted   State = "refuted"   // others revoked the message
)

// State returns the state of a report.
func (r *Report) State() State {
	switch {
	case r.Flags&FlagRefuted != 0 || r.Refuter != 0:
		return Refuted
	case r.Flags&FlagWithdrawn != 0:
		return Withdrawn
	case r.Flags&FlagRenewed != 0:
		return Renewed
	}
	return Counts
}
