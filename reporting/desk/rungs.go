package desk

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spambloom/spambloom/reporting/desk/contest"
	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// ErrRevokedOften is the error for a revocation of a message that its reporter has revoked too often in this period.
// And for a report of one that its origin has revoked too often, of which the reporter's reports were taken back too
// often, or by a trap of one that anybody revoked. It is not a ledger.ErrShare, which a later try may pass: a
// revocation that waited until the next period would overturn later words.
var ErrRevokedOften = errors.New("revoked too often")

// A period has room for 7 revocations of a message that is listed again after each, and for an
// eighth by an administrator (bloomdb/FORMAT.md, Ladder). After the last one, reporters cannot list
// it. Without shares, one or two of them could use up all, and protect a spam from the reports of
// all others. So after the fourth, each takes a reporter who has not revoked the message yet.
const (
	revocationsOfReporter = 4 // a person may change his mind eight times; see mostOfReporter
	revocationsOfOrigin   = 6 // all but one: others of the machine, or another site, can list it then

	reportsTakenBack = 2 // by others: one who alone revokes them has two left for what near-duplicates still list

	pagesLookedAt = 2      // of wordsLookedAt, of all messages
	wordsLookedAt = 10_000 // reports and revocations of a message, or of all that share a part with it
)

// withRoom returns an ErrRevokedOften if the reporter or the origin of an entry has used up its
// revocations of the message; a trap has none. If that is due to a file or sketch that the message
// shares with others, the entry is made without it: two accomplices who use up the revocations of a
// file by one program would otherwise shield each spam with this file from the reports of all its
// users. A revocation is refused nevertheless if it would leave the message listed.
func (d *Desk) withRoom(stance ledger.Stance, r Report, set signature.Set, e ledger.Entry, said []ledger.Report) (signature.Set, ledger.Entry, error) {
	by, most := d.refuseReport, []int{revocationsOfOrigin, 1}
	if stance == ledger.Ham {
		by, most = d.refuseRevocation, []int{d.mostOfReporter()}
	}
	if r.Trap {
		by, most = d.refuseTrap, []int{1}
	}
	refuse := func(set signature.Set, e ledger.Entry) error { return by(contest.Like(said, e), set, e) }
	err := refuse(r.Set, e)
	for i := 0; errors.Is(err, ErrRevokedOften) && i < len(most); i++ {
		rest, used := identity.Split(set, func(one signature.Set) bool {
			return r.Trap && identity.IsText(one) || d.db.Revocations(one) < most[i]
		})
		part := d.entry(stance, r, rest, e.At)
		part.Listed = stance == ledger.Ham && d.db.Stands(rest)
		if !identity.IsSame(rest, set) || stance == ledger.Ham && (!part.Listed || d.db.Judge(used).Listed) {
			return set, e, err
		}
		if err = refuse(rest, part); err == nil {
			return rest, part, nil
		}
	}
	return set, e, err
}

// refuseRevocation returns an ErrRevokedOften if a reporter, or all of one origin together, have
// used up their share of the revocations of a message in this period. Near-duplicates count
// together, because they share the room of their sketch; revocations of several that follow each
// other count as one. Of an origin, no more count than had an effect: two of its users who take back what
// listed nothing would otherwise keep all others from revoking what the two list then. Of a message that is
// not listed, only those of the reporter count who takes back what he reported: the ledger remembers few
// words, and undo needs those of others.
func (d *Desk) refuseRevocation(said []ledger.Report, set signature.Set, e ledger.Entry) error {
	if e.Reporter == ledger.Settler {
		return nil
	}
	byReporter, byOrigin, reports, err := d.revocations(e)
	if err != nil {
		return err
	}
	partsByReporter, partsByOrigin, byAnyone, err := d.partsRevoked(said, set, e)
	byOrigin = min(max(byOrigin, partsByOrigin), byAnyone)
	switch {
	case err != nil:
		return err
	case !e.Listed && !d.standsInPart(set) && (!reports || byReporter < d.mostOfReporter()):
		return nil
	case byReporter >= d.mostOfReporter():
		return fmt.Errorf("%w: %s has taken the %d revocations of one message that one may have in a period", ErrRevokedOften, e.Reporter, d.mostOfReporter())
	case byOrigin >= revocationsOfOrigin:
		return fmt.Errorf("%w: %s has taken the %d revocations of one message that one may have in a period", ErrRevokedOften, e.Origin, revocationsOfOrigin)
	case partsByReporter > 0:
		return fmt.Errorf("%w: the message was revoked %d times in this period, also by %s; now another reporter may, or an administrator (spambloom settle)",
			ErrRevokedOften, byAnyone, e.Reporter)
	}
	return nil
}

// refuseAgain returns an ErrRevokedOften for a revocation that the ledger knows, from the one on that takes further
// reporters: it would use up another rung, and be in no list of which revocations are counted.
func (d *Desk) refuseAgain(set signature.Set, e ledger.Entry) error {
	if e.Stance == ledger.Spam || e.Reporter == ledger.Settler || d.db.Revocations(set) < d.mostOfReporter() || !e.Listed && !d.standsInPart(set) {
		return nil
	}
	return fmt.Errorf("%w: %s has revoked the message before in this period; now another reporter may, or an administrator (spambloom settle)", ErrRevokedOften, e.Reporter)
}

// standsInPart reports whether any part of a message is listed, such as the sketch of a text that was revoked itself.
func (d *Desk) standsInPart(set signature.Set) bool {
	listed, _ := identity.Split(set, d.db.Stands)
	return len(listed.Signatures)+len(listed.Sketches) > 0
}

// mostOfReporter returns the number of revocations of one message that a reporter may have in a period. After as many by
// anybody, each takes a reporter who has made none. Other sites go by four (bloomdb/FORMAT.md, Ladder): at a joined site,
// the last of these takes a second reporter, or one alone would end the exchange of a spam.
func (d *Desk) mostOfReporter() int {
	if d.opt.Joined {
		return revocationsOfReporter - 1
	}
	return revocationsOfReporter
}

// refuseReport returns an ErrRevokedOften if reports of the message by its reporter were taken back twice by others, or
// four times by itself (mostOfReporter), or as much of both: one who alone revokes them would use up his revocations before. Or if
// those of one origin have used up their revocations of it: a few of them would keep it listed, for whoever else
// reports in the same way could not revoke it.
func (d *Desk) refuseReport(said []ledger.Report, set signature.Set, e ledger.Entry) error {
	revoked := d.db.Revocations(set)
	if e.Reporter == ledger.Settler || revoked == 0 {
		return nil
	}
	others, itself := contest.TakenBack(said, e.Reporter)
	if most := d.mostOfReporter(); others*most+itself*reportsTakenBack >= reportsTakenBack*most {
		return fmt.Errorf("%w: %d reports by %s of this message or like ones were taken back in this period; now another reporter may list it, or an administrator (spambloom settle)", ErrRevokedOften, others+itself, e.Reporter)
	}
	if revoked < revocationsOfOrigin {
		return nil
	}
	_, byOrigin, _, err := d.revocations(e)
	_, partsByOrigin, _, fault := d.partsRevoked(nil, set, e)
	if err = cmp.Or(err, fault); err != nil || max(byOrigin, partsByOrigin) < revocationsOfOrigin {
		return err
	}
	return fmt.Errorf("%w: %s has taken the %d revocations of one message that one may have in a period, and cannot report it again; another may, or an administrator (spambloom settle)",
		ErrRevokedOften, e.Origin, revocationsOfOrigin)
}

// said returns the words about messages like an entry's, the latest first, if it may be refused for them: of a report,
// those of all in the latest pagesLookedAt; of a revocation, the reporter's own. No tally has them all: where a reporter
// has said the same of an anchor before, it has only the latest. It holds no lock, so no other report waits for it.
func (d *Desk) said(r Report, e ledger.Entry) (like []ledger.Report, err error) {
	revoked := d.db.Revocations(r.Set)
	if r.Trap || r.settles || revoked == 0 || e.Stance == ledger.Ham && revoked < d.mostOfReporter() {
		return nil, nil
	}
	own, err := d.ownWords(e)
	if err != nil || e.Stance == ledger.Ham || len(own) < reportsTakenBack {
		return own, err
	}
	q := ledger.Query{Since: e.Period, Limit: wordsLookedAt}
	for page := 0; page < pagesLookedAt && (page == 0 || q.Before != 0); page++ {
		list, next, err := d.ledger.Reports(q)
		if err != nil {
			return nil, err
		}
		like, q.Before = append(like, contest.Like(list, e)...), next
	}
	return like, nil
}

// ownWords returns the words of an entry's reporter in this period about messages like it.
func (d *Desk) ownWords(e ledger.Entry) ([]ledger.Report, error) {
	own, _, err := d.ledger.Reports(ledger.Query{Reporter: e.Reporter, Since: e.Period, Limit: pagesLookedAt * wordsLookedAt})
	return contest.Like(own, e), err
}

// wordsOf returns the words in this period of all messages that share a signature, or enough of some anchors.
func (d *Desk) wordsOf(e ledger.Entry, anchors []ledger.Anchors) ([]ledger.Report, error) {
	list, _, err := d.ledger.Reports(ledger.Query{Set: e.Set, Anchors: anchors, Since: e.Period, Limit: wordsLookedAt})
	return list, err
}

// refuseTrap refuses a trap's report of what was revoked in this period. Otherwise, whoever sends it a
// copy of a newsletter after each revocation would use up those of the users, and their weight.
func (d *Desk) refuseTrap(_ []ledger.Report, set signature.Set, _ ledger.Entry) error {
	if d.db.Revocations(set) == 0 {
		return nil
	}
	return fmt.Errorf("%w for a trap: users revoked it in this period", ErrRevokedOften)
}

// revocations counts those of a message in this period: see contest.Revocations.
func (d *Desk) revocations(e ledger.Entry) (byReporter, byOrigin int, reports bool, err error) {
	list, err := d.wordsOf(e, e.Anchors)
	byReporter, byOrigin, reports = contest.Revocations(list, e)
	return byReporter, byOrigin, reports, err
}

// partsRevoked counts the revocations in this period, by the reporter and by the origin of an entry,
// of all messages that share a signature or an anchor with it. They are counted only once anybody
// has revoked the message so often that it matters: a reporter who composes variations with few
// anchors in common uses the same room of a sketch, and each variation looks like another message.
func (d *Desk) partsRevoked(said []ledger.Report, set signature.Set, e ledger.Entry) (byReporter, byOrigin, byAnyone int, err error) {
	byAnyone = d.db.Revocations(set)
	if byAnyone < d.mostOfReporter() {
		return 0, 0, byAnyone, nil
	}
	list, err := d.wordsOf(e, contest.AnyPart(e.Anchors))
	byReporter, byOrigin = contest.OfParts(list, e)
	own, _ := contest.OfParts(said, e)
	byReporter = max(byReporter, own)
	if byAnyone < revocationsOfOrigin {
		byOrigin = 0
	}
	return byReporter, byOrigin, byAnyone, err
}
