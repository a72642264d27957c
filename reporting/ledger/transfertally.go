package ledger

import (
	"math"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// takeTally joins the words in a tally.
func (m *importing) takeTally(t *txn, k Key, in *tally) error {
	if m.o.OtherKey && isSketchKey(k) {
		return nil
	}
	y, err := t.tally(k)
	if err != nil {
		return err
	}
	w := &joining{txn: t, m: m, k: k, y: y}
	before := y.sums
	if err := w.join(in); err != nil {
		return err
	}
	var due []uint64
	for _, s := range []Stance{Spam, Ham} {
		// Revocations that were idle may have something to revoke now.
		if y.sums[s] < t.l.quorum || s == Spam && before[s] >= t.l.quorum {
			continue
		}
		if s == Ham && !in.revoked.IsZero() && in.sums[Ham] >= t.l.quorum {
			continue // it was taken back there
		}
		n, err := w.decided(s)
		if err != nil {
			return err
		}
		due = append(due, n)
	}
	if err := t.putTally(k, y); err != nil {
		return err
	}
	for _, n := range due {
		if err := m.due(t, n); err != nil {
			return err
		}
	}
	return nil
}

// isSketchKey tells the tallies of anchors.
func isSketchKey(k Key) bool {
	return signature.Kind(k[0]) == signature.KindSketch || signature.Kind(k[0]) == signature.KindImage
}

// joining is one tally at work.
type joining struct {
	*txn
	m *importing
	k Key
	y *tally
}

// join takes over what is said of the tally as a whole, then each word.
func (w *joining) join(in *tally) error {
	if lost := w.m.past(in.lost); lost.After(w.y.lost) {
		w.y.lost = lost
	}
	if revoked := w.m.past(in.revoked); revoked.After(w.y.revoked) {
		w.y.revoked = revoked
		w.y.listed = false
		if err := w.close(); err != nil {
			return err
		}
	}
	w.y.listed = w.y.listed || in.listed && !in.revoked.Before(w.y.revoked)
	for _, there := range in.past {
		here, err := w.m.numberOf(w.txn, there)
		if err != nil {
			return err
		}
		if here != 0 {
			w.y.remember(here)
		}
	}
	for _, o := range in.inline {
		if err := w.add(o); err != nil {
			return err
		}
	}
	return nil
}

// close takes the reports before a revocation, which closed their case, out of the count.
func (w *joining) close() error {
	var closed []opinion
	if err := w.eachOpinion(w.k, w.y, func(o opinion) bool {
		if !o.ham && o.at.Before(w.y.revoked) {
			closed = append(closed, o)
		}
		return true
	}); err != nil {
		return err
	}
	for _, o := range closed {
		if err := w.removeOpinion(w.k, w.y, o); err != nil {
			return err
		}
	}
	return nil
}

// add joins one reporter's word: the later one counts.
func (w *joining) add(o opinion) error {
	here, err := w.m.numberOf(w.txn, o.report)
	if err != nil || here == 0 {
		return err
	}
	by, ok := w.m.reporters[o.reporter]
	if !ok {
		return nil
	}
	o.reporter, o.report, o.at = by, here, w.m.past(o.at)
	known, ok, err := w.opinionOf(w.k, w.y, by)
	if err != nil || ok && known.report == here {
		return err
	}
	if open, err := w.open(here); err != nil {
		return err
	} else if !open || !o.ham && o.at.Before(w.y.revoked) {
		w.y.remember(here)
		return nil
	}
	if !ok {
		return w.addOpinion(w.k, w.y, o)
	}
	if known.at.Before(o.at) {
		if err := w.removeOpinion(w.k, w.y, known); err != nil {
			return err
		}
		if err := w.addOpinion(w.k, w.y, o); err != nil {
			return err
		}
		return w.mark(known.report, superseded(known, o))
	}
	w.y.remember(here)
	return w.mark(here, superseded(o, known))
}

// open says whether a report still has a say. One that was taken by an earlier import
// may have been taken back here since.
func (w *joining) open(n uint64) (bool, error) {
	if n > w.m.begun {
		return true, nil
	}
	r, err := w.report(n)
	return r != nil && r.flags&(flagWithdrawn|flagRefuted) == 0, err
}

// superseded is what becomes of a word when the same reporter's later one counts.
func superseded(o, later opinion) reportFlags {
	if o.ham == later.ham {
		return flagRenewed
	}
	return flagWithdrawn
}

// decided says in the tally that it has the quorum by the words of both sides, and
// returns the latest report that says so; 0 where that is known, and to the filters too.
func (w *joining) decided(s Stance) (report uint64, err error) {
	if s == Spam && w.y.listed || s == Ham && !w.y.listed && w.y.sums[Spam] == 0 && !w.y.revoked.IsZero() {
		return 0, nil
	}
	var latest opinion
	first := time.Unix(math.MaxInt32, 0) // report of spam
	if err := w.eachOpinion(w.k, w.y, func(o opinion) bool {
		if o.stance() == s && o.report > latest.report {
			latest = o
		}
		if !o.ham && o.weight > 0 && o.at.Before(first) { // without weight there was nothing to revoke
			first = o.at
		}
		return true
	}); err != nil {
		return 0, err
	}
	if s == Spam {
		// What was taken back is spam again only by reports of a later period.
		again := w.y.effective(w.m.o.Period) && !latest.at.Before(w.m.o.Period)
		if w.y.listed = w.y.revoked.IsZero() && w.y.lost.IsZero() || again; !w.y.listed {
			return 0, nil
		}
		return latest.report, nil
	}
	if !latest.at.After(w.y.revoked) || !first.Before(latest.at) {
		return 0, nil
	}
	w.y.revoked, w.y.listed = latest.at, false
	return latest.report, w.close()
}

// due puts down what a report has the quorum for.
func (m *importing) due(t *txn, n uint64) error {
	r, err := t.report(n) // number 0 is none's
	if err != nil || r == nil || r.state() != Counts {
		return err
	}
	sums := map[Key]Weight{}
	for _, k := range keysOf(r.set, r.anchors) {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		sums[k] = y.sums[r.stance()]
	}
	parts := reach(r.set, r.anchors, func(k Key) Weight { return sums[k] }, t.l.quorum)
	if !parts.any() {
		return nil
	}
	action := List
	if r.stance() == Ham {
		action = Revoke
	}
	m.sum.Due++
	_, err = t.putDue(action, n, parts)
	return err
}
