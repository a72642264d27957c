package search

import (
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Standing is a part of one report's message that is listed or revoked.
type Standing struct {
	Set     signature.Set
	Class   uint8
	Revoked bool
	At      time.Time // of the report, or of the revocation
}

// Standing calls visit for every report with parts that are listed or revoked, for filters that
// have lost them. Of a part that was reported and revoked several times, it is the last word. It returns the first error of visit, and stops there.
func (l *Search) Standing(visit func(Standing) error) error {
	return l.view(func(t *txn) error {
		c := t.Reports.Cursor()
		for key, data := c.First(); key != nil; key, data = c.Next() {
			r, err := record.DecodeReport(data)
			if err != nil {
				continue // Check reports it
			}
			if err := t.standingOf(r, visit); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *txn) standingOf(r *record.Report, visit func(Standing) error) error {
	listed, revoked := map[record.Key]record.Weight{}, map[record.Key]record.Weight{}
	var at time.Time
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return err
		}
		last := y.Revoked
		if y.Lost.After(last) {
			last = y.Lost
		}
		switch {
		case y.Listed && !r.At.Before(last):
			listed[k] = t.quorum
		case !y.Listed && !last.IsZero():
			revoked[k] = t.quorum
			if last.After(at) {
				at = last
			}
		}
	}
	for _, side := range []struct {
		weights map[record.Key]record.Weight
		s       Standing
		skip    bool
	}{
		{revoked, Standing{Revoked: true, At: at}, false},
		{listed, Standing{Class: r.Class, At: r.At}, r.Stance() == record.Ham},
	} {
		parts := record.Reach(r.Set, r.Anchors, func(k record.Key) record.Weight { return side.weights[k] }, t.quorum)
		if side.skip || !parts.Any() {
			continue
		}
		side.s.Set, _ = parts.Of(r.Set)
		if err := visit(side.s); err != nil {
			return err
		}
	}
	return nil
}
