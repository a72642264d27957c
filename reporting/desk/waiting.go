package desk

import (
	"cmp"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/desk/contest"
	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/desk/waitlist"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// loadWaiting finds the revocations that waited when the daemon ended.
func (d *Desk) loadWaiting() error {
	now := d.db.Now()
	list, err := d.ledger.Waiting(now.Add(-waitlist.Time), waitlist.Most)
	if err != nil {
		return err
	}
	for _, r := range list {
		d.waiting.Load(waitlist.Word{ID: r.ID, Reporter: r.Reporter, Origin: r.Origin}, r.At)
	}
	return nil
}

// actOnWaiting lets the revocations act whose listing has arrived, and ends those that have waited long enough.
func (d *Desk) actOnWaiting() error {
	now := d.db.Now()
	for _, word := range d.waiting.All() {
		r, err := d.ledger.Report(word.ID)
		if err != nil {
			return err
		}
		stands, err := d.ledger.StandsBy(word.ID)
		switch {
		case err != nil:
			return err
		case !stands: // taken back, or expired
			d.waiting.Remove(word.ID)
		case now.After(word.Until):
			if err := d.ledger.Lapse(word.ID, now); err != nil {
				return err
			}
			d.waiting.Remove(word.ID)
		default:
			if err := d.actOn(r, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// actOn enters a waiting revocation again if other sites list the message now.
func (d *Desk) actOn(r ledger.Report, now time.Time) error {
	defer d.order.Lock(r.Set, r.Anchors)()
	isListed, isVoted := d.listsExactly(r.Set)
	if !isListed { // most are not; the ledger takes ten times as long to ask, for thousands of them
		return nil
	}
	if reported, err := d.ledger.Reported(r.Set, r.Anchors); err != nil || reported {
		return err
	}
	e := d.entry(ledger.Ham, Report{Reporter: r.Reporter, Trap: r.Trap}, r.Set, now)
	e.Origin, e.Listed, e.Voted, e.Anchors = r.Origin, true, isVoted, r.Anchors
	d.waiting.Remove(r.ID)
	own, err := d.ownWords(e)
	byReporter, _ := contest.OfParts(own, e)
	if byReporter > 0 && d.db.Revocations(r.Set) > 0 { // once: the rungs left are for those who look. What is alike by chance uses none
		err = cmp.Or(err, ErrRevokedOften)
	}
	var decision ledger.Decision
	if err == nil {
		decision, err = d.ledger.Enter(e)
	}
	if err != nil {
		d.log.Warn("a revocation that waited is refused", "report", r.ID, "error", err)
		return nil
	}
	d.log.Info("a revocation that waited acts", "reporter", r.Reporter, "ids", answer.IDs(r.Set.Signatures))
	if err = d.carryOut(decision); err != nil {
		d.overdue.Store(true)
	}
	return err
}

// listsExactly reports whether a message is listed by its text or body, not by likeness, and whether by votes alone.
func (d *Desk) listsExactly(set signature.Set) (isListed, isVoted bool) {
	set = identity.Exact(set)
	e := d.db.Judge(set)
	isVoted = e.IsVoted()
	return isVoted || slices.ContainsFunc(d.db.Explain(set), bloomdb.Trace.Stands), isVoted
}
