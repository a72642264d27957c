// Package reserve keeps a part of a period's room for revocations from undo, so that the reports of
// one reporter, who may have used more room than there is for revocations, do not take it from those
// of everybody else.
package reserve

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// undoShare is the share of a period's revocations that undo may fill.
const undoShare = 0.75

// bitsOfMessage is the number of bits that the revocation of a message sets at most: 36 signatures of 16.
const bitsOfMessage = 576

// Step returns the number of reports that one step of undo may read, at least 1, so that what it
// revokes does not exceed undoShare by more than one message. Limit is the request's; 0 is none.
func Step(s bloomdb.Status, limit int) int {
	left := undoShare
	for _, f := range s.Filters {
		if f.Kind == "revoked" {
			left = min(left, undoShare-f.Taken)
		}
	}
	step := max(1, int(left*float64(s.Revocable)/bitsOfMessage))
	return min(cmp.Or(max(limit, 0), step), step)
}

// Undo does undo in steps, one at a time: two at once would each use the room that both see.
type Undo struct{ step sync.Mutex }

// Steps does one step of undo, or without a limit as many as there is room for. It returns their sum.
func (u *Undo) Steps(ask api.UndoRequest, do func(api.UndoRequest) (api.Undone, error)) (done api.Undone, err error) {
	isWhole := ask.Limit <= 0
	for {
		step, err := u.one(ask, do)
		if errors.Is(err, ledger.ErrPeriodShare) && done.Next != 0 {
			return done, nil // the request for the rest is refused, and told why
		}
		done = done.Then(step)
		if err != nil || !isWhole || step.Next == 0 {
			return done, err
		}
		ask.Before = step.Next
	}
}

func (u *Undo) one(ask api.UndoRequest, do func(api.UndoRequest) (api.Undone, error)) (api.Undone, error) {
	u.step.Lock()
	defer u.step.Unlock()
	return do(ask)
}

// Reached returns an error that wraps ledger.ErrPeriodShare if undo may not revoke more in this
// period; otherwise nil.
func Reached(s bloomdb.Status) error {
	for _, f := range s.Filters {
		if f.Kind == "revoked" && f.Taken >= undoShare {
			return fmt.Errorf("%w: %.0f %% of the period's revocations are used, and undo leaves the others to users: never and retouch clear a message here",
				ledger.ErrPeriodShare, 100*f.Taken)
		}
	}
	return nil
}
