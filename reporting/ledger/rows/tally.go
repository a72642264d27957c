package rows

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Tally reads a tally; an empty one if there is none.
func (t *Txn) Tally(k record.Key) (*record.Tally, error) {
	data := t.Tallies.Get(k[:])
	if data == nil {
		return &record.Tally{}, nil
	}
	return record.DecodeTally(data)
}

// PutTally writes a tally, or removes an empty one.
func (t *Txn) PutTally(k record.Key, y *record.Tally) error {
	if len(y.Inline) == 0 && y.More == 0 && len(y.Past) == 0 {
		return t.Tallies.Delete(k[:])
	}
	return t.Tallies.Put(k[:], y.Encode())
}

// OpinionOf returns the opinion of a reporter in a tally.
func (t *Txn) OpinionOf(k record.Key, y *record.Tally, reporter uint32) (record.Opinion, bool, error) {
	for _, o := range y.Inline {
		if o.Reporter == reporter {
			return o, true, nil
		}
	}
	if y.More == 0 {
		return record.Opinion{}, false, nil
	}
	data := t.Opinions.Get(record.OpinionKey(k, reporter))
	if data == nil {
		return record.Opinion{}, false, nil
	}
	o, err := record.DecodeOpinion(reporter, data)
	return o, err == nil, err
}

// OpinionsOf returns the opinions of a reporter in some tallies. Of nil, who is not known, there are none.
func (t *Txn) OpinionsOf(r *record.Reporter, tallies map[record.Key]*record.Tally) (map[record.Key]record.Opinion, error) {
	opinions := map[record.Key]record.Opinion{}
	if r == nil {
		return opinions, nil
	}
	for k, y := range tallies {
		o, ok, err := t.OpinionOf(k, y, r.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			opinions[k] = o
		}
	}
	return opinions, nil
}

// AddOpinion adds a reporter's opinion to a tally.
func (t *Txn) AddOpinion(k record.Key, y *record.Tally, o record.Opinion) error {
	y.Add(o)
	if len(y.Inline) < record.MaxInline {
		y.Inline = append(y.Inline, o)
		return nil
	}
	y.More++
	return t.Opinions.Put(record.OpinionKey(k, o.Reporter), o.Append(nil))
}

// RemoveOpinion removes a reporter's opinion from a tally, which remembers its report.
func (t *Txn) RemoveOpinion(k record.Key, y *record.Tally, o record.Opinion) error {
	y.Subtract(o)
	y.Remember(o.Report, t.isRevocation)
	for i, known := range y.Inline {
		if known.Reporter == o.Reporter {
			y.Inline = slices.Delete(y.Inline, i, i+1)
			return nil
		}
	}
	y.More = max(y.More, 1) - 1
	return t.Opinions.Delete(record.OpinionKey(k, o.Reporter))
}

// isRevocation reports whether a report is a revocation of the current period with a weight. One that cannot be
// read is none.
func (t *Txn) isRevocation(n uint64) bool {
	is, known := t.revocations[n]
	if !known && !t.Period.IsZero() {
		r, err := t.Report(n)
		is = err == nil && r != nil && r.Stance() == record.Ham && r.Flags&record.FlagIdle == 0 && r.Weight > 0 && !r.At.Before(t.Period)
		t.revocations[n] = is
	}
	return is
}

// TakeOpinion removes an opinion that is no longer its reporter's, unless isRenewed. See Release.
func (t *Txn) TakeOpinion(k record.Key, y *record.Tally, o record.Opinion, isRenewed bool) error {
	err := t.RemoveOpinion(k, y, o)
	if err != nil || isRenewed {
		return err
	}
	return t.Release(k, y, o)
}

// Release ends the wait for a second reporter, whose opinion is gone, if the one who is left has reported
// nothing that was held: it is a trap, or a reporter of other mail with this part. It looks for that one among
// all opinions, of which there may be thousands. So it does nothing if the opinion was no voice: then nobody
// is missing.
func (t *Txn) Release(k record.Key, y *record.Tally, gone record.Opinion) error {
	if !y.IsWaiting() || !gone.IsVoice() {
		return nil
	}
	var left record.Opinion
	err := t.EachOpinion(k, y, func(o record.Opinion) bool {
		isVoice := o.IsVoice() && o.Reporter != gone.Reporter
		if isVoice {
			left = o
		}
		return !isVoice
	})
	isHeld := func(n uint64) bool {
		r, err := t.Report(n)
		return err == nil && r != nil && r.Reporter == left.Reporter && r.Held.Mails > 0
	}
	y.Held = isHeld(left.Report) || slices.ContainsFunc(y.Past, isHeld) // an earlier one: there may be less such mail now
	return err
}

// EachOpinion visits all opinions in a tally, until visit returns false.
func (t *Txn) EachOpinion(k record.Key, y *record.Tally, visit func(record.Opinion) bool) error {
	for _, o := range y.Inline {
		if !visit(o) {
			return nil
		}
	}
	if y.More == 0 {
		return nil
	}
	c := t.Opinions.Cursor()
	for name, data := c.Seek(k[:]); len(name) == len(k)+4 && record.Key(name) == k; name, data = c.Next() {
		o, err := record.DecodeOpinion(binary.BigEndian.Uint32(name[len(k):]), data)
		if err != nil {
			return err
		}
		if !visit(o) {
			return nil
		}
	}
	return nil
}

// Past is a report that no longer counts.
type Past struct {
	Number uint64
	Report *record.Report
}

// PastOf returns the reports that a tally remembers, and that have not expired.
func (t *Txn) PastOf(y *record.Tally) (list []Past, err error) {
	for _, n := range y.Past {
		r, err := t.Report(n)
		if err != nil {
			return nil, err
		}
		if r != nil {
			list = append(list, Past{n, r})
		}
	}
	return list, nil
}

// Contradiction returns the weight of the reporters who said the opposite of one of some reports later, and have not taken
// that back, whether it counts or not; without one reporter.
func Contradiction(past []Past, i int, but uint32) (sum record.Weight) {
	seen := map[uint32]bool{but: true}
	for _, p := range past {
		r := p.Report
		if p.Number > past[i].Number && r.Stance() != past[i].Report.Stance() && r.Flags&(record.FlagWithdrawn|record.FlagIdle) == 0 && !seen[r.Reporter] {
			seen[r.Reporter] = true
			sum += r.Weight
		}
	}
	return sum
}

// EachRefuted visits the refuted reports that some tallies remember, each once.
func (t *Txn) EachRefuted(keys []record.Key, tallies map[record.Key]*record.Tally, visit func(n uint64, r *record.Report) error) error {
	seen := map[uint64]bool{}
	for _, k := range keys {
		for _, n := range tallies[k].Past {
			if seen[n] {
				continue
			}
			seen[n] = true
			r, err := t.Report(n)
			if err == nil && r != nil && r.Refuter != 0 {
				err = visit(n, r)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Again returns the opinion of a report that counts again: with the weight that root has set for its reporter, if that
// is less, such as that of one whom root ignores since.
func (t *Txn) Again(n uint64, r *record.Report) (record.Opinion, error) {
	o := record.Opinion{Reporter: r.Reporter, Report: n, At: r.At.Truncate(time.Second), Weight: r.Weight, Ham: r.Stance() == record.Ham}
	row, err := t.ReporterByID(r.Reporter)
	if row != nil && row.Fixed {
		o.Weight = min(o.Weight, row.Override)
	}
	return o, err
}
