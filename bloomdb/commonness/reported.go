package commonness

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Reported takes back what was learned of a message that is reported now: from now on its features
// need a sender and two days more to be common, and its sender more days to be known.
func (t *Table) Reported(features []uint64, message uint64) {
	from := t.sendersOf(message)
	if len(from) == 0 && !t.IsLearning() { // there is nothing to take back
		return
	}
	day := t.today()
	s := t.current(0, 0, day)
	if s == nil {
		return
	}
	taken := t.toTakeBack(s, features, day)
	for _, f := range slices.Concat(taken, from) {
		s.add(reportOn(f, day))
	}
	t.byReports.Add(int32(len(taken)))
	s.changes.Add(1)
}

// toTakeBack returns the features of a reported message that take room in a set: those that mail had which was
// learned here. A reporter can invent any number of others. When reports have used their share of the day, or when
// the set is closed, they are those that are common. A report takes no room for what was reported on the same day.
func (t *Table) toTakeBack(s *set, features []uint64, day int64) []uint64 {
	isTaken := t.wasLearned
	if t.isClosed(s) || t.byReports.Load() >= room/reportShares {
		isTaken = t.IsCommon
	}
	return slices.DeleteFunc(slices.Clone(features), func(f uint64) bool {
		return present([]*set{s}, []filter.Hash{reportOn(f, day)}) > 0 || !isTaken(f)
	})
}

// wasLearned reports whether mail that was learned had a feature.
func (t *Table) wasLearned(feature uint64) bool { return t.count(feature, ofDay, days, 1) > 0 }

// reportOn returns the entry of a feature for a day on which it was reported.
func reportOn(feature uint64, day int64) filter.Hash {
	return entry(feature, ofReport, uint64(day)%reportDays)
}
