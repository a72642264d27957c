package desk

import (
	"slices"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Bounds of revocations that wait.
const (
	waitingTime       = 2 * time.Hour // longer than a site is usually behind
	waitingOfReporter = 16            // from one origin: a program that names the reporter takes no place of its own ones
	waitingOfOrigin   = 7_500         // of one program or client, whose reporters may have any names
	waitingOfAll      = 10_000
)

// waiting are revocations of messages that nobody had reported or listed when they were made:
// at a site that is joined to others, the listing may be on its way. A revocation acts once, if
// the listing arrives from another site within waitingTime and its reporter still stands by it.
// It keeps no report out: the ledger does not count it. It is safe for concurrent use.
type waiting struct {
	mu   sync.Mutex
	list []waitingWord
}

type waitingWord struct {
	id               uint64 // of the revocation in the ledger; 0: it is being entered
	reporter, origin string
	until            time.Time
}

// reserve keeps a place for another revocation until release. It returns false if there is none.
func (w *waiting) reserve(reporter, origin string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	ofReporter, ofOrigin := 0, 0
	for _, word := range w.list {
		if word.reporter == reporter && word.origin == origin {
			ofReporter++
		}
		if word.origin == origin && origin != "" {
			ofOrigin++
		}
	}
	if ofReporter >= waitingOfReporter || ofOrigin >= waitingOfOrigin || len(w.list) >= waitingOfAll {
		return false
	}
	w.list = append(w.list, waitingWord{reporter: reporter, origin: origin})
	return true
}

// release ends a reservation. The caller has added the revocation before, if it waits.
func (w *waiting) release(reporter, origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.list, waitingWord{reporter: reporter, origin: origin})
	w.list = slices.Delete(w.list, i, i+1)
}

// add lets a revocation wait, and returns until when.
func (w *waiting) add(id uint64, reporter, origin string, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := now.Add(waitingTime)
	w.list = append(w.list, waitingWord{id, reporter, origin, until})
	return until
}

func (w *waiting) all() []waitingWord {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.list), func(word waitingWord) bool { return word.id == 0 })
}

func (w *waiting) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(word waitingWord) bool { return word.id == id })
}

// loadWaiting finds the revocations that waited when the daemon ended.
func (d *Desk) loadWaiting() error {
	now := d.db.Now()
	list, err := d.ledger.Waiting(now.Add(-waitingTime), waitingOfAll)
	if err != nil {
		return err
	}
	d.waiting.mu.Lock()
	defer d.waiting.mu.Unlock()
	for _, r := range list {
		if !slices.ContainsFunc(d.waiting.list, func(word waitingWord) bool { return word.id == r.ID }) {
			d.waiting.list = append(d.waiting.list, waitingWord{r.ID, r.Reporter, r.Origin, r.At.Add(waitingTime)})
		}
	}
	return nil
}

// actOnWaiting lets the revocations act whose listing has arrived, and ends those that have waited long enough.
func (d *Desk) actOnWaiting() error {
	now := d.db.Now()
	for _, word := range d.waiting.all() {
		r, err := d.ledger.Report(word.id)
		if err != nil {
			return err
		}
		stands, err := d.ledger.StandsBy(word.id)
		switch {
		case err != nil:
			return err
		case !stands: // taken back, or expired
			d.waiting.remove(word.id)
		case now.After(word.until):
			if err := d.ledger.Lapse(word.id, now); err != nil {
				return err
			}
			d.waiting.remove(word.id)
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
	d.waiting.remove(r.ID)
	decision, err := d.ledger.Enter(e)
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
	isPart := func(s signature.Signature) bool { return !s.Kind.IsOfMessage() }
	set = signature.Set{Signatures: slices.DeleteFunc(slices.Clone(set.Signatures), isPart)}
	e := d.db.Judge(set)
	isVoted = e.IsVoted()
	return isVoted || slices.ContainsFunc(d.db.Explain(set), bloomdb.Trace.Stands), isVoted
}
