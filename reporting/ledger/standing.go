package ledger

import (
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Standing is what the ledger holds of one report's message: parts that stand listed, or
// that stand revoked.
type Standing struct {
	Set     signature.Set
	Class   uint8
	Revoked bool
	At      time.Time // of the report, or of the revocation
}

// Standing calls visit for every report whose parts stand listed or revoked, for filters
// that have lost them. It stops at the first error, which it returns.
func (l *Ledger) Standing(visit func(Standing) error) error {
	return l.view(func(t *txn) error {
		c := t.reports.Cursor()
		for key, data := c.First(); key != nil; key, data = c.Next() {
			r, err := decodeReport(data)
			if err != nil {
				continue // Check names it
			}
			if err := t.standingOf(r, visit); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) standingOf(r *report, visit func(Standing) error) error {
	listed, revoked := map[Key]Weight{}, map[Key]Weight{}
	var at time.Time
	for _, k := range keysOf(r.set, r.anchors) {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		if y.listed {
			listed[k] = t.l.quorum
		}
		for _, when := range []time.Time{y.revoked, y.lost} {
			if !when.IsZero() {
				revoked[k] = t.l.quorum
			}
			if when.After(at) {
				at = when
			}
		}
	}
	for _, side := range []struct {
		weights map[Key]Weight
		s       Standing
		skip    bool
	}{
		{revoked, Standing{Revoked: true, At: at}, false},
		{listed, Standing{Class: r.class, At: r.at}, r.stance() == Ham},
	} {
		parts := reach(r.set, r.anchors, func(k Key) Weight { return side.weights[k] }, t.l.quorum)
		if side.skip || !parts.any() {
			continue
		}
		side.s.Set, _ = parts.of(r.set)
		if err := visit(side.s); err != nil {
			return err
		}
	}
	return nil
}
