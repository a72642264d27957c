package search

import (
	"maps"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// Standing is a part of one report's message that is listed or revoked.
type Standing struct {
	Set     signature.Set
	Class   uint8
	Revoked bool
	At      time.Time                      // of the report, or of the revocation
	Turns   map[signature.Signature][]Turn // oldest first
}

const (
	maxTurns  = 16      // of a signature: more than the rungs that other sites count
	keptTurns = 1 << 15 // signatures of which the turns are kept, each with more reports than maxTurns
)

// Turn is the first of successive reports, or revocations, of a signature. With a quorum above 1, not each
// statement lists or revokes, so there are none.
type Turn struct {
	At      time.Time
	Revoked bool
}

// Standing calls visit for every report with parts that are listed or revoked, for filters that
// have lost them. Of a part that was reported and revoked several times, it is the last word. It
// returns the first error of visit, and stops there.
func (l *Search) Standing(visit func(Standing) error) error {
	return l.view(func(t *txn) error { return t.standingAfter(0, visit) })
}

// StandingAfter is Standing of the reports and revocations after number n, but without messages
// about which a decision is due: the filters do not have that yet.
func (l *Search) StandingAfter(n uint64, visit func(Standing) error) error {
	return l.view(func(t *txn) error {
		due, err := t.dueSignatures()
		if err != nil {
			return err
		}
		return t.standingAfter(n, func(s Standing) error {
			if slices.ContainsFunc(s.Set.Signatures, func(s signature.Signature) bool { return due[s] }) {
				return nil
			}
			return visit(s)
		})
	})
}

func (t *txn) dueSignatures() (map[signature.Signature]bool, error) {
	due := map[signature.Signature]bool{}
	c := t.Due.Cursor()
	for key, data := c.First(); key != nil; key, data = c.Next() {
		d, err := record.DecodeDue(data)
		if err != nil {
			return nil, err
		}
		r, err := t.Report(d.Report)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		for _, s := range r.Set.Signatures {
			due[s] = true
		}
	}
	return due, nil
}

func (t *txn) standingAfter(n uint64, visit func(Standing) error) error {
	return t.After(n, func(data []byte) error {
		r, err := record.DecodeReport(data)
		if err != nil {
			return nil // Check reports it
		}
		return t.standingOf(r, visit)
	})
}

func (t *txn) standingOf(r *record.Report, visit func(Standing) error) error {
	listed, revoked := map[record.Key]record.Weight{}, map[record.Key]time.Time{}
	isListed, isLost := map[record.Key]record.Weight{}, map[record.Key]record.Weight{}
	for _, k := range record.KeysOf(r.Set, r.Anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return err
		}
		last := y.Revoked
		if y.Lost.After(last) {
			last, isLost[k] = y.Lost, t.quorum
		}
		if y.Listed {
			isListed[k] = t.quorum
		}
		switch {
		case y.Listed && !r.At.Before(last):
			listed[k] = t.quorum
		case !y.Listed && !last.IsZero():
			revoked[k] = last
		}
	}
	t.keepNear(r, revoked, isLost, isListed)
	turns, err := t.allTurns(r)
	if err != nil {
		return err
	}
	if err := t.visitRevoked(r, revoked, turns, visit); err != nil || r.Stance() == record.Ham {
		return err
	}
	parts := record.Reach(r.Set, r.Anchors, func(k record.Key) record.Weight { return listed[k] }, t.quorum)
	return visitParts(r, parts, Standing{Class: r.Class, At: r.At, Turns: turns}, visit)
}

// allTurns returns the turns of each signature of a report's message: copies have different bodies and the
// same text.
func (t *txn) allTurns(r *record.Report) (map[signature.Signature][]Turn, error) {
	all := map[signature.Signature][]Turn{}
	for _, s := range r.Set.Signatures {
		turns, err := t.turnsOf(s)
		if err != nil {
			return nil, err
		}
		if len(turns) > 0 {
			all[s] = turns
		}
	}
	return all, nil
}

// turnsOf returns the turns of a signature. Statements that changed nothing are no turns: held ones, those
// with less weight than the quorum, and revocations of what nobody had reported.
func (t *txn) turnsOf(s signature.Signature) (turns []Turn, err error) {
	key := record.SignatureKey(s)
	y, err := t.Tally(key)
	if err != nil || t.quorum > record.NewWeight(1) || y.Revoked.IsZero() {
		return nil, err
	}
	if turns, ok := t.turns[key]; ok {
		return turns, nil
	}
	read := 0
	err = t.OfMessage(signature.Set{Signatures: []signature.Signature{s}}, nil, 0, func(n uint64) (bool, error) {
		read++
		o, err := t.Report(n)
		if err != nil || o == nil || o.Weight < t.quorum || o.Held.Mails > 0 || o.Flags&record.FlagIdle != 0 {
			return true, err
		}
		turn := Turn{At: o.At, Revoked: o.Stance() == record.Ham}
		if last := len(turns) - 1; last >= 0 && turns[last].Revoked == turn.Revoked {
			turns[last] = turn // they come newest first
		} else {
			turns = append(turns, turn)
		}
		return len(turns) < maxTurns, nil
	})
	slices.Reverse(turns)
	if len(t.turns) == keptTurns {
		clear(t.turns)
	}
	if read > maxTurns {
		t.turns[key] = turns
	}
	return turns, err
}

// keepNear removes from the revoked keys the texts that have lost their quorum while their sketch has one:
// the filters have not revoked them, see record.Reached.Lost.
func (t *txn) keepNear(r *record.Report, revoked map[record.Key]time.Time, isLost, isListed map[record.Key]record.Weight) {
	reach := func(keys map[record.Key]record.Weight) record.Reached {
		return record.Reach(r.Set, r.Anchors, func(k record.Key) record.Weight { return keys[k] }, t.quorum)
	}
	lost := reach(isLost)
	kept := lost.Without(lost.Lost(r.Set, reach(isListed)))
	for i, s := range r.Set.Signatures {
		if kept.Signatures[i] {
			delete(revoked, record.SignatureKey(s))
		}
	}
}

// visitRevoked visits the revoked parts of a report's message, each at its own time: one that is revoked
// again with another message is no reason to say the others' revocation again.
func (t *txn) visitRevoked(r *record.Report, revoked map[record.Key]time.Time, turns map[signature.Signature][]Turn, visit func(Standing) error) error {
	until := func(at time.Time) record.Reached {
		return record.Where(r.Set, r.Anchors, func(k record.Key) bool {
			last, ok := revoked[k]
			return ok && !last.After(at)
		})
	}
	before := until(time.Time{})
	for _, at := range slices.CompactFunc(slices.SortedFunc(maps.Values(revoked), time.Time.Compare), time.Time.Equal) {
		parts := until(at)
		if err := visitParts(r, parts.Without(before), Standing{Revoked: true, At: at, Turns: turns}, visit); err != nil {
			return err
		}
		before = parts
	}
	return nil
}

func visitParts(r *record.Report, parts record.Reached, s Standing, visit func(Standing) error) error {
	if !parts.Any() {
		return nil
	}
	s.Set, _ = parts.Of(r.Set)
	return visit(s)
}
