package desk

import (
	"fmt"

	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// hits counts the mail of the last day that a report would hit. Exact copies are counted by the
// filters, which survive a restart; near-duplicates and senders by the memory of unlisted mail. It is
// zero for a message that is listed.
func (d *Desk) hits(set signature.Set, e ledger.Entry) (found ledger.Likeness) {
	evidence := d.db.Judge(set)
	if evidence.Listed {
		return found
	}
	anchors, need := make([][]uint64, len(e.Anchors)), make([]int, len(e.Anchors))
	for i, a := range e.Anchors {
		anchors[i], need[i] = a.Hashes, a.Need
	}
	found = ledger.Likeness(d.opt.Unlisted.Like(judged.Group{Signatures: e.Set.Signatures, Anchors: anchors, Need: need}, e.At))
	found.Mails = max(found.Mails, evidence.Count)
	return found
}

// isMuch reports whether a report of so many hits is held. Only administrators may report under the
// names of traps.
func (d *Desk) isMuch(r Report, hits ledger.Likeness) bool {
	return d.opt.HoldFrom > 0 && hits.Mails >= d.opt.HoldFrom && !IsTrap(r.Reporter) && !r.Administers && !r.settles
}

// likeWords describes unreported mail. Senders are not known of mail before a restart.
func likeWords(l ledger.Likeness) string {
	mails, senders := "1 mail", "1 sender"
	if l.Mails != 1 {
		mails = fmt.Sprintf("%d mails", l.Mails)
	}
	if l.Senders != 1 {
		senders = fmt.Sprintf("%d senders", l.Senders)
	}
	if l.Senders > 0 {
		mails += " of " + senders
	}
	return "like " + mails + " that nobody reported"
}
