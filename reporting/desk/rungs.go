package desk

import (
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger"
)

// ErrRevokedOften is the error for a revocation of a message that its reporter has revoked too
// often in this period. It is not a ledger.ErrShare, which a later try may pass: a revocation that
// waited until the next period would overturn later words.
var ErrRevokedOften = errors.New("revoked too often")

// A period has room for 8 revocations of a message that is listed again after each
// (bloomdb/FORMAT.md, Ladder). After the last one, nobody can list it. Without shares, one
// reporter could use up all 8, and protect a spam from the reports of all others.
const (
	revocationsOfReporter = 4 // a person may change his mind eight times
	revocationsOfTrusted  = 6
	revocationsOfOrigin   = 6

	revocationsLookedAt = 256 // reports and revocations of a message, the latest
)

// refuseRevocation returns an ErrRevokedOften if a reporter, or all of one origin together, have
// used up their share of the revocations of a message in this period. Near-duplicates count
// together, because they share the room of their sketch; revocations of several that follow each
// other count as one.
func (d *Desk) refuseRevocation(e ledger.Entry) error {
	if !e.Listed || e.Reporter == ledger.Settler {
		return nil
	}
	list, _, err := d.ledger.Reports(ledger.Query{Set: e.Set, Anchors: e.Anchors, Since: e.Period, Limit: revocationsLookedAt})
	if err != nil {
		return err
	}
	byReporter, byOrigin := 0, 0
	for i, r := range list { // the latest first
		if r.Stance != ledger.Ham || r.Idle || r.Reporter == ledger.Settler {
			continue
		}
		if follows := i+1 < len(list) && list[i+1].Stance == ledger.Spam; !follows && !isSame(r.Set, e.Set) {
			continue
		}
		if r.Reporter == e.Reporter {
			byReporter++
		}
		if r.Origin == e.Origin && e.Origin != "" {
			byOrigin++
		}
	}
	most := revocationsOfReporter
	if e.Trap || e.Trusted {
		most = revocationsOfTrusted
	}
	switch {
	case byReporter >= most:
		return fmt.Errorf("%w: %s has taken the %d revocations of one message that one may have in a period", ErrRevokedOften, e.Reporter, most)
	case byOrigin >= revocationsOfOrigin:
		return fmt.Errorf("%w: %s has taken the %d revocations of one message that one may have in a period", ErrRevokedOften, e.Origin, revocationsOfOrigin)
	}
	return nil
}
