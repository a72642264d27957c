package rows

import (
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// whole is the weight of a part that is as it is asked for.
const whole record.Weight = 1

// ListsNear reports whether the tallies list a message by the sketch of its text.
func (t *Txn) ListsNear(set signature.Set, anchors []record.Anchors, tallies map[record.Key]*record.Tally) bool {
	return record.Where(set, anchors, func(k record.Key) bool { return tallies[k].Listed }).IsNear()
}

// RevokeKept makes revocations due for texts that lost their quorum earlier, and stayed listed only
// because a sketch had it, see record.Reached.Lost. The sketch of report n, a near-duplicate of them, has
// lost it now. It finds those that AlikeOf visits. False: none.
func (t *Txn) RevokeKept(n uint64, set signature.Set, anchors []record.Anchors) (isDue bool, err error) {
	taken := map[record.Key]bool{}
	err = t.AlikeOf(n, set, anchors, func(other uint64, r *record.Report) error {
		if r.Stance() == record.Ham {
			return nil
		}
		parts, err := t.Kept(r, taken)
		if err == nil && parts.Any() {
			isDue = true
			_, err = t.PutDue(record.Due{Action: record.Revoke, Report: other, Parts: parts})
		}
		return err
	})
	return isDue, err
}

// RevokeLost makes revocations due for texts of some reports that have lost their quorum, without those taken. A sketch
// may have kept them listed that has no opinion of these reports, because their reporter had reported one like them
// before. For each report it reads few tallies.
func (t *Txn) RevokeLost(numbers []uint64, taken map[record.Key]bool) error {
	for _, n := range numbers {
		r, err := t.Report(n)
		if err != nil {
			return err
		}
		if r == nil || r.Stance() == record.Ham {
			continue
		}
		parts, err := t.Kept(r, taken)
		if err == nil && parts.Any() {
			_, err = t.PutDue(record.Due{Action: record.Revoke, Report: n, Parts: parts})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TakeDue adds the signatures of which a revocation is due.
func (t *Txn) TakeDue(taken map[record.Key]bool) error {
	c := t.Due.Cursor()
	for key, data := c.First(); key != nil; key, data = c.Next() {
		due, err := record.DecodeDue(data)
		if err != nil {
			return err
		}
		r, err := t.Report(due.Report)
		if err != nil {
			return err
		}
		for i, is := range due.Parts.Signatures {
			if is && due.Action == record.Revoke && r != nil && i < len(r.Set.Signatures) {
				taken[record.SignatureKey(r.Set.Signatures[i])] = true
			}
		}
	}
	return nil
}

// Kept returns the signatures of a report's text that have lost their quorum, without those taken
// before; none while the sketch is listed. It reads the tallies of the anchors, which are many, only if
// there are such signatures: it is called for up to thousands of reports.
func (t *Txn) Kept(r *record.Report, taken map[record.Key]bool) (record.Reached, error) {
	lost := map[record.Key]record.Weight{}
	for _, s := range r.Set.Signatures {
		k := record.SignatureKey(s)
		switch y, err := t.Tally(k); {
		case err != nil:
			return record.Reached{}, err
		case s.Kind.IsOfMessage() && y.HasLost() && !taken[k]:
			lost[k] = whole
		}
	}
	if len(lost) == 0 {
		return record.Reached{}, nil
	}
	tallies := map[record.Key]*record.Tally{}
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return record.Reached{}, err
		}
		tallies[k] = y
	}
	if t.ListsNear(r.Set, r.Anchors, tallies) {
		return record.Reached{}, nil
	}
	for k := range lost {
		taken[k] = true
	}
	return record.Reach(r.Set, nil, func(k record.Key) record.Weight { return lost[k] }, whole), nil
}
