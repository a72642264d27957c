package rows

import (
	"cmp"
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// TextOf returns the text of a report's message, by its signatures and sketches; all of a message without one.
func TextOf(r *record.Report) (set signature.Set, anchors []record.Anchors) {
	for _, s := range r.Set.Signatures {
		if s.Kind.IsOfMessage() {
			set.Signatures = append(set.Signatures, s)
		}
	}
	for i, s := range r.Set.Sketches {
		if s.Kind == signature.KindSketch {
			set.Sketches, anchors = append(set.Sketches, s), append(anchors, r.Anchors[i])
		}
	}
	if len(set.Signatures)+len(set.Sketches) == 0 {
		return r.Set, r.Anchors
	}
	return set, anchors
}

// IsContradicted reports whether others than its reporter who say the opposite of a report's text have a weight.
func (t *Txn) IsContradicted(r *record.Report, weight record.Weight) (bool, error) {
	set, anchors := TextOf(r)
	sums := map[record.Key]record.Weight{}
	for _, k := range record.KeysOf(set, anchors) {
		y, err := t.Tally(k)
		if err != nil {
			return false, err
		}
		own, _, err := t.OpinionOf(k, y, r.Reporter)
		if err != nil {
			return false, err
		}
		sums[k] = y.Sums[1-r.Stance()] - own.Sums()[1-r.Stance()]
	}
	return record.Reach(set, anchors, func(k record.Key) record.Weight { return sums[k] }, weight).Any(), nil
}

// WordsOf returns the numbers of those reports and revocations of a reporter which are as has says.
func (t *Txn) WordsOf(reporter string, has func(*record.Report) bool) (words map[uint64]bool, err error) {
	words = map[uint64]bool{}
	return words, t.ByReporter(reporter, 0, func(n uint64) (bool, error) {
		r, err := t.Report(n)
		if err == nil && r != nil && has(r) {
			words[n] = true
		}
		return true, err
	})
}

// RefutedBy returns the numbers of the reports that some words refuted. It reads at most limit reports below the
// number before (0: all), and returns that of the next call; 0: it has read all.
func (t *Txn) RefutedBy(words map[uint64]bool, before uint64, limit int) (list []uint64, next uint64, err error) {
	err = t.All(time.Time{}, before, func(n uint64) (bool, error) {
		if limit--; limit < 0 {
			next = n + 1
			return false, nil
		}
		r, err := t.Report(n)
		if err == nil && r != nil && words[r.Refuter] {
			list = append(list, n)
		}
		return true, err
	})
	return list, next, err
}

// MaxStanding bounds those of a key who are compared as accusers. One more than the last accuser is enough.
const MaxStanding = 16

// Standing returns opinions of others, but of none of some, who say the opposite of a report's text: of each key, at
// most MaxStanding.
func (t *Txn) Standing(r *record.Report, but ...uint32) ([]record.Opinion, error) {
	but = append(but, r.Reporter)
	set, anchors := TextOf(r)
	words := map[record.Key][]record.Opinion{}
	for _, k := range record.KeysOf(set, anchors) {
		y, err := t.Tally(k)
		if err == nil {
			err = t.EachOpinion(k, y, func(o record.Opinion) bool {
				if o.Stance() != r.Stance() && !o.Idle && o.Weight > 0 && !slices.Contains(but, o.Reporter) {
					words[k] = append(words[k], o)
				}
				return len(words[k]) < MaxStanding
			})
		}
		if err != nil {
			return nil, err
		}
	}
	list, _ := Alike(set, anchors, words)
	return list, nil
}

// Accuser returns the first of some opinions that may charge who said the opposite: of none of some reporters, and not
// of a trap. None: it has no reporter.
func (t *Txn) Accuser(list []record.Opinion, but ...uint32) (record.Opinion, error) {
	for _, o := range list {
		if slices.Contains(but, o.Reporter) {
			continue
		}
		if r, err := t.Report(o.Report); err != nil || r != nil && r.Flags&record.FlagTrap == 0 {
			return o, err
		}
	}
	return record.Opinion{}, nil
}

// Sides returns the opinions of the other stance, by key, of those keys of which they end; and who stands by a stance,
// those who came first, at most MaxStanding.
func (t *Txn) Sides(keys []record.Key, tallies map[record.Key]*record.Tally, s record.Stance, ends func(record.Key) bool) (words, standing map[record.Key][]record.Opinion, err error) {
	words, standing = map[record.Key][]record.Opinion{}, map[record.Key][]record.Opinion{}
	for _, k := range keys {
		var stand []record.Opinion
		isEnded := ends(k)
		err := t.EachOpinion(k, tallies[k], func(o record.Opinion) bool {
			switch {
			case o.Idle:
			case o.Stance() == s && o.Weight > 0:
				stand = append(stand, o)
			case o.Stance() != s && isEnded:
				words[k] = append(words[k], o)
			}
			return true
		})
		if err != nil {
			return nil, nil, err
		}
		slices.SortFunc(stand, func(a, b record.Opinion) int { return cmp.Compare(a.Reporter, b.Reporter) })
		standing[k] = stand[:min(len(stand), MaxStanding)]
		slices.SortFunc(words[k], func(a, b record.Opinion) int { // a tally remembers the last ones: reporters with weight to lose
			return cmp.Or(cmp.Compare(min(a.Weight, 1), min(b.Weight, 1)), cmp.Compare(a.Report, b.Report))
		})
	}
	return words, standing, nil
}

// Mark sets a flag of a report, if it is still there.
func (t *Txn) Mark(n uint64, flag record.ReportFlags) error {
	r, err := t.Report(n)
	if err != nil || r == nil || r.Flags&flag != 0 {
		return err
	}
	r.Flags |= flag
	return t.PutReport(n, r)
}
