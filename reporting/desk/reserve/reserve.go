// Package reserve keeps a part of a period's room for revocations from undo, so that the reports of
// one reporter, who may have used more room than there is for revocations, do not take it from those
// of everybody else.
package reserve

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// undoShare is the share of a period's revocations that undo may fill.
const undoShare = 0.75

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
