package ledger

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/rows"
	"github.com/spambloom/spambloom/signature"
)

// Entry is one reporter's statement about one message.
type Entry struct {
	Stance   Stance
	Reporter string    // at most 255 bytes
	Trap     bool      // a spam trap: of full weight
	At       time.Time // now
	Period   time.Time // begin of the current period; earlier statements may be renewed
	Class    uint8     // bloomdb's number; kept without effect
	Origin   string    // the way it came; at most 255 bytes
	Set      signature.Set
	Anchors  []Anchors // of each of Set.Sketches
	Listed   bool      // the filters or votes list the message now
	Voted    bool      // of Listed: votes alone do, so that its undo lists nothing
	Trusted  bool      // an administrator enters it: the reporter's share is that of a trap
	Cost     int64     // room in the filters, in parts of CostUnit of a period's
	Held     Likeness  // what nobody else reported of the message is not listed alone; zero: it is
}

// Decision is the result of an entry. Unless Action is None, the caller carries it out and
// then calls Settle. Until then it is due.
type Decision struct {
	Action Action
	Set    signature.Set // the parts that have the quorum, or have lost it
	Places []int         // of the sketches in the entry's set
	Class  uint8         // of the report
	Due    uint64        // for Settle; 0: nothing is due

	ID      uint64    // of the report; 0: the entry contained nothing new
	Weight  Weight    // of the reporter
	Sum     Weight    // after the entry, the largest of the message's signatures
	Quorum  Weight    // that is needed
	Idle    bool      // a revocation without effect: nobody had reported the message
	Revoked time.Time // the last revocation before this entry; zero: none
	Settled bool      // an administrator has settled the message as the opposite
	Others  bool      // reports of others counted before this entry
	Held    bool      // a report that waits for a second reporter
	MoreDue bool      // revocations of near-duplicates are due as well
}

// Enter enters a report or a revocation. When the error is nil, it is on disk. After an error
// nothing is entered: ErrFull, ErrShare (with the party's name), ErrClosed, or an error of the
// disk.
func (l *Ledger) Enter(e Entry) (Decision, error) {
	if err := record.CheckName(e.Reporter); err != nil {
		return Decision{}, err
	}
	if err := record.CheckMessage(e.Set, e.Anchors); err != nil {
		return Decision{}, err
	}
	var d Decision
	err := l.commit(func(t *txn) (refused, err error) {
		if d, refused, err = t.enter(e); err != nil {
			return nil, err
		}
		return refused, t.Flush()
	})
	if err != nil {
		return Decision{}, err
	}
	l.noteReport(d.ID)
	return d, nil
}

// settledWeight is the weight of Settler.
const settledWeight Weight = 1_000_000

// entering is the state of one Enter.
type entering struct {
	*txn
	e       Entry
	row     *record.Reporter
	weight  Weight
	keys    []record.Key
	tallies map[record.Key]*record.Tally
	fresh   []record.Key             // where the reporter's statement is new
	said    []record.Key             // fresh, and where the statement is renewed
	changed []record.Key             // said, and where the statement is reversed
	old     map[uint64]bool          // the reporter's reports that this one replaces; true: of the other stance
	idle    bool                     // a revocation of a message that is not listed, and of which no report of others lists it
	settled map[record.Key]Stance    // by an administrator, against others
	foreign bool                     // a revocation of a message that only other sites list, in filters
	against bool                     // see Decision.Others
	listed  bool                     // reports of others list the text
	own     map[record.Key][2]Weight // of this reporter, in the sums

	standing map[record.Key][]record.Opinion // by the entry's stance, of keys that it closes
}

func (t *txn) enter(e Entry) (d Decision, refused, err error) {
	t.Period = e.Period
	w := &entering{txn: t, e: e, keys: record.KeysOf(e.Set, e.Anchors), tallies: map[record.Key]*record.Tally{}, old: map[uint64]bool{}, own: map[record.Key][2]Weight{}, settled: map[record.Key]Stance{}}
	if w.row, err = t.Reporter(e.Reporter); err != nil {
		return d, nil, err
	}
	w.weight = t.l.weight(w.row, e.Trap, e.At)
	if e.Reporter == Settler {
		w.weight = settledWeight
	}
	if err := w.look(); err != nil {
		return d, nil, err
	}
	w.against = slices.ContainsFunc(w.keys, func(k record.Key) bool {
		return w.isSignature(k) && w.tallies[k].Sums[Spam] > w.own[k][Spam]
	})
	if len(w.changed) == 0 { // it lists or revokes again what has the quorum: the filters may have lost it
		return w.decision(w.decided(w.reach(w.e.Stance))), nil, nil
	}
	if w.idle {
		w.e.Cost = 0 // it writes no filter
	}
	if t.Count(buckets.CountReports) >= rows.Room(t.l.opt.Max, e.Trusted || e.Reporter == Settler, e.Stance == Ham && !w.idle) || w.row == nil && t.Count(buckets.CountReporters) >= maxReporters {
		return d, ErrFull, nil
	}
	if refused, err := w.refuseShare(); refused != nil || err != nil {
		return d, refused, err
	}
	isNew := w.row == nil
	if d, err = w.write(); err != nil {
		return d, nil, err
	}
	return d, nil, w.book(isNew)
}

// look reads the tallies and finds the keys for which the entry is new. An idle revocation
// is new again once there is something to revoke.
func (w *entering) look() (err error) {
	for _, k := range w.keys {
		if w.tallies[k], err = w.Tally(k); err != nil {
			return err
		}
	}
	if err := w.lookSettled(); err != nil {
		return err
	}
	opinions, err := w.OpinionsOf(w.row, w.tallies)
	if err != nil {
		return err
	}
	for k, o := range opinions {
		w.own[k] = o.Sums()
	}
	reported := record.Reach(w.e.Set, w.e.Anchors, w.revocable, 1)
	isRevoked := slices.ContainsFunc(w.e.Set.Signatures, func(s signature.Signature) bool { return w.tallies[record.SignatureKey(s)].IsRevoked() })
	w.idle = w.e.Stance == Ham && !w.e.Listed && !reported.Any() && !isRevoked && w.e.Reporter != Settler
	w.listed = record.Reach(w.e.Set, w.e.Anchors, func(k record.Key) Weight { return w.backing(Spam)(k) - w.own[k][Spam] }, w.l.quorum).IsText()
	isLeft := w.e.Stance == Ham && !w.idle && !w.listed && w.e.Reporter != Settler // such as a text that waits, beside a listed file
	keys := slices.DeleteFunc(slices.Clone(w.keys), func(k record.Key) bool { return isLeft && w.tallies[k].IsWaiting() && w.revocable(k) == 0 })
	if w.row == nil {
		w.fresh, w.said, w.changed = keys, keys, keys
		return nil
	}
	for _, k := range keys {
		o, ok := opinions[k]
		same := ok && o.Stance() == w.e.Stance
		known := same && (!o.Idle || w.idle)
		raised := w.row.Fixed && o.Weight < w.weight // an administrator has raised the weight since
		if known && !o.At.Before(w.e.Period) && !raised {
			continue
		}
		if ok && w.isSignature(k) {
			w.old[o.Report] = w.old[o.Report] || !same
		}
		if !ok || same && !known {
			w.fresh = append(w.fresh, k) // a reporter who changes sides confirms nobody
		}
		if !ok || same {
			w.said = append(w.said, k)
		}
		w.changed = append(w.changed, k)
	}
	return nil
}

// lookSettled finds the keys that an administrator has settled, unless the entry does it now.
func (w *entering) lookSettled() error {
	row, err := w.Reporter(Settler)
	if err != nil || w.e.Reporter == Settler {
		return err
	}
	opinions, err := w.OpinionsOf(row, w.tallies)
	for k, o := range opinions {
		w.settled[k] = o.Stance()
	}
	return err
}

// revocable returns the weight of the reports of a key that the reporter can revoke. One of others that waits
// lists nothing, and remains the first of two: else one who revokes each first one would keep a second away.
func (w *entering) revocable(k record.Key) Weight {
	if w.tallies[k].IsWaiting() && w.own[k][Spam] == 0 {
		return 0
	}
	return w.tallies[k].Sums[Spam]
}

// isSignature reports whether a key is that of a signature. Of a message that has only anchors in
// common with this one, all else still counts.
func (w *entering) isSignature(k record.Key) bool {
	return slices.ContainsFunc(w.e.Set.Signatures, func(s signature.Signature) bool { return record.SignatureKey(s) == k })
}

// backing returns the weight behind a stance: the quorum or more if it decides. The opposite of
// an administrator's decision has none.
func (w *entering) backing(s Stance) func(record.Key) Weight {
	return func(k record.Key) Weight {
		y := w.tallies[k]
		switch settled, ok := w.settled[k]; {
		case ok && settled != s:
			return 0
		case s == Ham:
			return y.Sums[Ham]
		}
		return y.Reports(w.l.quorum, w.e.Period)
	}
}

func (w *entering) reach(s Stance) record.Reached {
	return record.Reach(w.e.Set, w.e.Anchors, w.backing(s), w.l.quorum)
}

// decided returns the parts for which the entry's stance has the quorum. A reporter with less weight than a newcomer
// decides only what has no quorum without this word: what has one may have been contradicted since, here or elsewhere.
func (w *entering) decided(before record.Reached) record.Reached {
	r := w.reach(w.e.Stance)
	if w.weight == 0 || w.weight < min(record.NewWeight(w.l.opt.Model.Newcomer), w.l.quorum) {
		return r.Without(before)
	}
	return r
}

func (w *entering) decision(r record.Reached) Decision {
	d := Decision{Weight: w.weight, Quorum: w.l.quorum, Class: w.e.Class, Idle: w.idle, Others: w.against}
	for _, s := range w.e.Set.Signatures {
		k := record.SignatureKey(s)
		y := w.tallies[k]
		if sum := y.Sums[w.e.Stance]; sum > d.Sum {
			d.Sum = sum
			if w.e.Stance == Spam {
				d.Quorum = y.Need(w.l.quorum, w.e.Period)
			}
		}
		if settled, ok := w.settled[k]; ok && settled != w.e.Stance {
			d.Settled = true
		}
		d.Held = d.Held || w.e.Stance == Spam && y.IsWaiting() && y.Sums[Spam] >= d.Quorum
		if y.Revoked.After(d.Revoked) {
			d.Revoked = y.Revoked
		}
	}
	d.Held = d.Held && !r.IsText()
	if r.Any() && !w.idle {
		d.Set, d.Places = r.Of(w.e.Set)
		d.Action = List
		if w.e.Stance == Ham {
			d.Action = Revoke
		}
	}
	return d
}

// write enters the report and returns the decision.
func (w *entering) write() (d Decision, err error) {
	if w.row == nil {
		if w.row, err = w.NewReporter(w.e.Reporter, w.e.At); err != nil {
			return d, err
		}
	}
	spam, said := w.reach(Spam), w.reach(w.e.Stance)
	wasNear := w.e.Stance == Ham && w.ListsNear(w.e.Set, w.e.Anchors, w.tallies)
	n, err := w.Reports.NextSequence()
	if err != nil {
		return d, err
	}
	early := !said.Any() && !w.idle
	if w.foreign = w.e.Stance == Ham && w.e.Listed && !w.e.Voted && !spam.Any(); w.foreign {
		due, err := w.isRevocationDue()
		if err != nil {
			return d, err
		}
		w.foreign = !due
	}
	credit, err := w.credit(early)
	if err != nil {
		return d, err
	}
	w.hold()
	if err := w.replace(); err != nil {
		return d, err
	}
	for _, k := range w.changed {
		o := record.Opinion{Reporter: w.row.ID, Report: n, At: w.e.At.Truncate(time.Second), Weight: w.weight, Ham: w.e.Stance == Ham, Early: early, Idle: w.idle}
		if err := w.AddOpinion(k, w.tallies[k], o); err != nil {
			return d, err
		}
	}
	now := w.decided(said)
	if w.e.Stance == Ham {
		now = now.With(spam.Lost(w.e.Set, w.reach(Spam)))
	}
	d = w.decision(now)
	d.ID = n
	if err := w.close(n); err != nil {
		return d, err
	}
	if err := w.record(n, early, credit); err != nil {
		return d, err
	}
	err = w.makeDue(&d, now, wasNear)
	return d, err
}

// makeDue writes what the decision d makes due: itself, for the parts that have the quorum now, and
// revocations of texts that only a sketch kept listed.
func (w *entering) makeDue(d *Decision, parts record.Reached, wasNear bool) (err error) {
	if d.Action != None {
		if d.Due, err = w.PutDue(record.Due{Action: d.Action, Report: d.ID, Parts: parts}); err != nil {
			return err
		}
	}
	if wasNear && !w.ListsNear(w.e.Set, w.e.Anchors, w.tallies) {
		d.MoreDue, err = w.RevokeKept(d.ID, w.e.Set, w.e.Anchors)
	}
	return err
}

// hold lets a report wait for a second reporter. A message that was reported without being held, and that
// somebody else revoked, is not held, because the rules of a contest decide it. That goes for each part of it:
// one that others have, such as a file, or an invented one, would free all mail. So only parts that nobody
// else has reported become held. They remain so while a report of them stands (release).
func (w *entering) hold() {
	isContested := record.All(w.e.Set, w.e.Anchors, func(k record.Key) bool { return w.tallies[k].IsContested(w.own[k]) })
	if w.e.Stance == Ham || isContested {
		w.e.Held = Likeness{}
	}
	for _, k := range w.changed {
		y := w.tallies[k]
		y.Held = w.e.Held.Mails > 0 && y.Sums[Spam] == w.own[k][Spam] || y.Held && (w.e.Stance == Ham || y.Voices > 0)
	}
}

// replace removes this reporter's earlier opinions from the sums.
func (w *entering) replace() error {
	for _, k := range w.changed {
		o, ok, err := w.OpinionOf(k, w.tallies[k], w.row.ID)
		if err == nil && ok {
			err = w.TakeOpinion(k, w.tallies[k], o, w.e.Stance == o.Stance())
		}
		if err != nil {
			return err
		}
	}
	reversed := map[uint64]bool{}
	for n, other := range w.old {
		mark := record.FlagRenewed
		if other {
			mark, reversed[n] = record.FlagWithdrawn, true
		}
		if err := w.Mark(n, mark); err != nil {
			return err
		}
	}
	return w.pardon(reversed)
}

// close marks in the tallies what is listed and revoked now, and refutes the reporters of the other stance, where that
// changes something or the reporter says it for the first time in this period. Else one who says it again with another file, or who
// changes sides and back, keeps away each second one who disagrees.
func (w *entering) close(n uint64) error {
	var decided, closed []record.Key
	for _, k := range w.keys {
		y, isNew := w.tallies[k], w.e.Reporter == Settler || slices.Contains(w.said, k)
		reached := w.backing(w.e.Stance)(k) >= w.l.quorum && w.weight > 0 && !w.idle
		switch {
		case w.e.Stance == Spam && reached:
			isNew = y.List() || isNew
		case w.e.Stance == Ham && reached:
			isNew = y.Revoke(w.e.At) || isNew
		case w.e.Stance == Ham && y.Deciding(Spam) < w.l.quorum:
			y.Unlist(w.e.At)
		}
		if reached {
			decided = append(decided, k)
		}
		if reached && isNew {
			closed = append(closed, k)
		}
	}
	if err := w.refute(n, decided, closed); err != nil {
		return err
	}
	for _, k := range w.keys {
		if err := w.PutTally(k, w.tallies[k]); err != nil {
			return err
		}
	}
	return nil
}

// record writes the report itself.
func (w *entering) record(n uint64, early bool, credit Weight) error {
	r := &record.Report{
		At: w.e.At.UTC(), Reporter: w.row.ID, Weight: w.weight, Credit: credit, Class: w.e.Class,
		Origin: w.e.Origin, Set: w.e.Set, Anchors: w.e.Anchors, Held: w.e.Held,
	}
	if w.e.Stance == Ham {
		r.Flags |= record.FlagHam
		w.row.Revocations++
	} else {
		w.row.Reports++
	}
	if w.e.Trap {
		r.Flags |= record.FlagTrap
	}
	if early {
		r.Flags |= record.FlagEarly
	}
	if w.idle {
		r.Flags |= record.FlagIdle
	}
	if w.foreign {
		r.Flags |= record.FlagForeign
	}
	w.row.Last, w.row.Dirty = w.e.At.Truncate(time.Second).UTC(), true
	if err := w.PutReport(n, r); err != nil {
		return err
	}
	if err := w.By.Put(buckets.ByKey(w.row.ID, n), nil); err != nil {
		return err
	}
	return w.Add(buckets.CountReports, 1)
}
