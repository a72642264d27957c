package desk

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// holds returns one sentence about what holds after a report or a revocation, here and at other
// sites, and from when.
func (d *Desk) holds(stance ledger.Stance, set signature.Set, o Outcome) string {
	everywhere := "from now on"
	switch {
	case d.opt.Joined && !d.db.IsShared(set):
		everywhere = "here from now on, but other sites may not follow, because it was reported and revoked too often"
	case d.opt.Joined:
		everywhere = "here from now on, and at other sites when they receive the change"
	}
	what := "not spam"
	if o.Evidence.Listed {
		what = "spam"
	}
	switch {
	case o.Settled:
		return "It is " + what + ", because an administrator has settled it."
	case o.Held && o.Like.Mails > 0:
		return "It is " + answer.Like(o.Like) + ", so the report is held: nothing is listed until a second reporter or an administrator agrees."
	case o.Held:
		return "The report is held, because it would hit much mail that nobody reported: nothing is listed until a second reporter or an administrator agrees."
	case !o.Waits.IsZero():
		return fmt.Sprintf("It is not listed here; if another site lists it before %s, that is revoked.", when(o.Waits))
	case o.Idle:
		return "It is not listed, so there is nothing to revoke."
	case !o.RevokedUntil.IsZero():
		return fmt.Sprintf("It is not spam until %s, because it was reported and revoked too often; an administrator can settle it.", when(o.RevokedUntil))
	case o.Quorum > 0:
		return fmt.Sprintf("It is %s until others agree: the weight is %.3g of %.3g.", what, o.Sum, o.Quorum)
	case o.Evidence.Listed != (stance == ledger.Spam):
		return "It is still " + what + "."
	}
	if o.Like.Mails > 1 {
		everywhere += "; it is " + answer.Like(o.Like)
	}
	return "It is " + what + " " + everywhere + "."
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
