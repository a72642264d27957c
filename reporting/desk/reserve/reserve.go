// Package reserve keeps a part of a period's room for revocations from undo, so that the reports of
// one reporter, who may have used more room than there is for revocations, do not take it from those
// of everybody else.
package reserve

import (
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

// most is the number of reports that a step of undo without a limit reads.
const most = 200

// Limit returns the number of reports that a step of undo may read: all that the request wants (0: most),
// if their revocations, which plan counts, have room; otherwise as many as have it. What it revokes then exceeds
// undoShare by one message at most. If there is no room, the error wraps ledger.ErrPeriodShare.
func Limit(s bloomdb.Status, ask api.UndoRequest, plan func(api.UndoRequest) (ledger.Undone, error)) (int, error) {
	if ask.Limit <= 0 {
		ask.Limit = most
	}
	room, reached := roomOf(s)
	if room >= ask.Limit {
		return ask.Limit, nil
	}
	ask.DryRun = true
	switch would, err := plan(ask); {
	case err != nil:
		return 0, err
	case would.Delisted <= room: // the others take none
		return ask.Limit, nil
	}
	return room, reached
}

// roomOf returns how many messages undo may revoke in this period, or an error if none.
func roomOf(s bloomdb.Status) (messages int, reached error) {
	taken := 0.0
	for _, f := range s.Filters {
		if f.Kind == "revoked" {
			taken = max(taken, f.Taken)
		}
	}
	if taken >= undoShare {
		return 0, fmt.Errorf("%w: %.0f %% of the period's revocations are used, and undo leaves the others to users: never and retouch clear a message here",
			ledger.ErrPeriodShare, 100*taken)
	}
	return max(1, int((undoShare-taken)*float64(s.Revocable)/bitsOfMessage)), nil
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
