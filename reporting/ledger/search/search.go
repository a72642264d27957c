package search

import (
	"cmp"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/signature"
)

// Search finds reports in the file of a ledger. A Ledger embeds one, and its methods are those
// of the Ledger. They are safe for concurrent use.
type Search struct {
	read   func(func(*rows.Txn) error) error
	quorum record.Weight
}

// New returns a Search that reads with that function.
func New(read func(func(*rows.Txn) error) error, quorum record.Weight) *Search {
	return &Search{read: read, quorum: quorum}
}

// txn is a transaction that is read.
type txn struct {
	*rows.Txn
	quorum record.Weight
	turns  map[record.Key][]Turn // of the signatures visited last
}

func (l *Search) view(do func(*txn) error) error {
	return l.read(func(t *rows.Txn) error { return do(&txn{t, l.quorum, map[record.Key][]Turn{}}) })
}

// Report is one report or revocation that is kept.
type Report struct {
	ID       uint64
	At       time.Time
	Stance   record.Stance
	Reporter string
	Trap     bool
	Class    uint8
	Origin   string
	Weight   record.Weight
	State    record.State
	Idle     bool // a revocation that waits for a listing
	Undone   bool // or taken back by its reporter; State may tell what it was before
	Set      signature.Set
	Anchors  []record.Anchors
	Held     record.Likeness // why it was held; zero: for no reason of its own
}

// Query narrows the result of Reports. The zero value matches every report.
type Query struct {
	Set      signature.Set // only reports that share a signature, or enough anchors of a sketch, with it
	Anchors  []record.Anchors
	Reporter string
	Since    time.Time
	Before   uint64 // numbers below this one; 0: all
	Limit    int    // at least 1
}

// Reports returns reports, the newest first, and the Before of the next page; 0 if there are no
// more. A page ends after MaxVisits reports that it has read, also if few or none of them match. Of a
// message with many reports it finds the latest and those that count, at most 10,000.
func (l *Search) Reports(q Query) (list []Report, next uint64, err error) {
	visits := 0
	err = l.view(func(t *txn) error {
		visit := func(n uint64) (more bool, err error) {
			if visits++; visits > MaxVisits {
				next = n + 1
				return false, nil
			}
			r, err := t.Report(n)
			if err != nil || r == nil || r.At.Before(q.Since) {
				return true, err
			}
			row, err := t.ReporterByID(r.Reporter)
			if err != nil || q.Reporter != "" && (row == nil || row.Name != q.Reporter) {
				return true, err
			}
			if len(list) == q.Limit {
				next = list[len(list)-1].ID
				return false, nil
			}
			p, err := t.public(n, r, row)
			list = append(list, p)
			return true, err
		}
		switch {
		case len(q.Set.Signatures)+len(q.Set.Sketches) > 0:
			return t.OfMessage(q.Set, q.Anchors, q.Before, visit)
		case q.Reporter != "":
			return t.ByReporter(q.Reporter, q.Before, visit)
		}
		return t.All(q.Since, q.Before, visit)
	})
	return list, next, err
}

func (t *txn) public(n uint64, r *record.Report, by *record.Reporter) (Report, error) {
	p := Report{
		ID: n, At: r.At, Stance: r.Stance(), Trap: r.Flags&record.FlagTrap != 0, Class: r.Class,
		Origin: r.Origin, Weight: r.Weight, State: r.State(), Idle: r.Flags&record.FlagIdle != 0, Undone: r.Flags&record.FlagWithdrawn != 0, Set: r.Set, Anchors: r.Anchors, Held: r.Held,
	}
	if by != nil {
		p.Reporter = by.Name
	}
	isHeld, err := t.isHeld(n, r)
	if isHeld {
		p.State = record.Held
	}
	return p, err
}

// isHeld reports whether a report still waits for a second reporter: neither its first signature
// has one, nor a near-duplicate. Its flags do not show it, as in StandsBy.
func (t *txn) isHeld(n uint64, r *record.Report) (bool, error) {
	if r.Stance() == record.Ham {
		return false, nil
	}
	listed := map[record.Key]record.Weight{}
	for i, k := range record.KeysOf(r.Set, r.Anchors) { // the first signature is the first key
		y, err := t.Tally(k)
		if err != nil {
			return false, err
		}
		if i == 0 {
			o, ok, err := t.OpinionOf(k, y, r.Reporter)
			if err != nil || !ok || o.Report != n || !y.IsWaiting() {
				return false, err
			}
		}
		if y.Listed {
			listed[k] = t.quorum
		}
	}
	return !record.Reach(r.Set, r.Anchors, func(k record.Key) record.Weight { return listed[k] }, t.quorum).IsText(), nil
}

// Reported reports whether any reporter with a weight reported a message or a near-duplicate, or
// whether the message was revoked after that.
func (l *Search) Reported(set signature.Set, anchors []record.Anchors) (found bool, err error) {
	return l.reported(set, anchors, nil)
}

// Lists reports whether reports list a part of a message: a signature, or enough anchors of a sketch.
func (l *Search) Lists(set signature.Set, anchors []record.Anchors) (is bool, err error) {
	fault := l.view(func(t *txn) error {
		is = record.Where(set, anchors, func(k record.Key) bool {
			y, fault := t.Tally(k)
			err = cmp.Or(err, fault)
			return fault == nil && y.Listed
		}).Any()
		return nil
	})
	return is, cmp.Or(err, fault)
}

// Revocable is Reported without the reports of others that wait for a second reporter: only then there is
// something for this one to revoke.
func (l *Search) Revocable(set signature.Set, anchors []record.Anchors, reporter string) (found bool, err error) {
	return l.reported(set, anchors, func(t *txn, k record.Key, y *record.Tally) (bool, error) {
		row, err := t.Reporter(reporter)
		if err != nil || row == nil {
			return false, err
		}
		o, ok, err := t.OpinionOf(k, y, row.ID)
		return ok && o.IsVoice(), err
	})
}

// reported leaves out what waits and is not of a reporter's own; own nil: it leaves nothing out.
func (l *Search) reported(set signature.Set, anchors []record.Anchors, own func(*txn, record.Key, *record.Tally) (bool, error)) (found bool, err error) {
	err = l.view(func(t *txn) error {
		sums := map[record.Key]record.Weight{}
		for _, k := range record.KeysOf(set, anchors) {
			y, err := t.Tally(k)
			if err != nil {
				return err
			}
			sums[k] = y.Sums[record.Spam]
			if own != nil && y.IsWaiting() {
				if isOwn, err := own(t, k, y); err != nil {
					return err
				} else if !isOwn {
					sums[k] = 0
				}
			}
			if y.IsRevoked() && slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return record.SignatureKey(s) == k }) {
				sums[k] = 1
			}
		}
		found = record.Reach(set, anchors, func(k record.Key) record.Weight { return sums[k] }, 1).Any()
		return nil
	})
	return found, err
}

// Alone returns the parts of a message that nobody but a reporter has reported, with a weight: signatures
// and sketches each by itself, because nobody can check that they belong to one message. What another
// reporter waits with for a second one has none.
func (l *Search) Alone(set signature.Set, anchors []record.Anchors, reporter string) (rest signature.Set, restAnchors []record.Anchors, err error) {
	err = l.view(func(t *txn) error {
		row, err := t.Reporter(reporter)
		if err != nil {
			return err
		}
		others := map[record.Key]record.Weight{}
		for _, k := range record.KeysOf(set, anchors) {
			y, err := t.Tally(k)
			if err != nil {
				return err
			}
			others[k] = y.Deciding(record.Spam)
			if row == nil {
				continue
			}
			if o, ok, err := t.OpinionOf(k, y, row.ID); err != nil {
				return err
			} else if ok && !o.Ham {
				others[k] -= o.Weight
			}
		}
		r := record.Reach(set, anchors, func(k record.Key) record.Weight { return others[k] }, 1)
		rest, restAnchors = r.Rest(set, anchors)
		return nil
	})
	return rest, restAnchors, err
}
