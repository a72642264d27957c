package rows

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/signature"
)

// maxOfMessage bounds the reports of one message that are read.
const maxOfMessage = 10_000

// OfMessage visits the numbers below before (0: all) of a message's reports, the newest first,
// until visit returns false. Reports that have only anchors in common with it must have as many
// as would list its sketch.
func (t *Txn) OfMessage(set signature.Set, anchors []record.Anchors, before uint64, visit func(uint64) (bool, error)) error {
	found, err := t.numbersOf(set, anchors)
	if err != nil {
		return err
	}
	numbers := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(n uint64) bool { return before != 0 && n >= before })
	for _, n := range slices.Backward(numbers) {
		if more, err := visit(n); err != nil || !more {
			return err
		}
	}
	return nil
}

// numbersOf returns the numbers of a message's reports, by its signatures and by enough anchors of
// a sketch.
func (t *Txn) numbersOf(set signature.Set, anchors []record.Anchors) (map[uint64]bool, error) {
	found := map[uint64]bool{}
	gather := func(k record.Key, add func(uint64)) error {
		y, err := t.Tally(k)
		if err != nil {
			return err
		}
		for _, n := range y.Past {
			add(n)
		}
		left := maxOfMessage // of an anchor, which adds nothing to found, too
		return t.EachOpinion(k, y, func(o record.Opinion) bool {
			add(o.Report)
			left--
			return left > 0 && len(found) < maxOfMessage
		})
	}
	for _, s := range set.Signatures {
		if err := gather(record.SignatureKey(s), func(n uint64) { found[n] = true }); err != nil {
			return nil, err
		}
	}
	for i, a := range anchors {
		common := map[uint64]int{}
		for _, h := range a.Hashes {
			if err := gather(record.AnchorKey(set.Sketches[i].Kind, h), func(n uint64) { common[n]++ }); err != nil {
				return nil, err
			}
		}
		for n, times := range common {
			if a.Need > 0 && times >= a.Need {
				found[n] = true
			}
		}
	}
	return found, nil
}

// AlikeOf visits the other reports of report n's message and of its near-duplicates, the newest first.
// It also finds reports that no tally of an anchor has any longer, because its reporter has reported
// another near-duplicate since: in one transaction, among the latest maxOfMessage of such reporters.
func (t *Txn) AlikeOf(n uint64, set signature.Set, anchors []record.Anchors, visit func(uint64, *record.Report) error) error {
	found, err := t.numbersOf(set, anchors)
	if err != nil {
		return err
	}
	reporters, err := t.reportersOf(n, set, anchors)
	if err != nil {
		return err
	}
	for _, id := range reporters {
		if err := t.indexAnchors(id); err != nil {
			return err
		}
		for i, a := range anchors {
			times := map[uint64]int{}
			for _, h := range a.Hashes {
				for _, other := range t.anchored[id][record.AnchorKey(set.Sketches[i].Kind, h)] {
					if times[other]++; times[other] == a.Need {
						found[other] = true
					}
				}
			}
		}
	}
	delete(found, n)
	for _, other := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		r, err := t.Report(other)
		if err == nil && r != nil {
			err = visit(other, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// indexAnchors reads the anchors of a reporter's reports, once in a transaction.
func (t *Txn) indexAnchors(id uint32) error {
	if t.anchored[id] != nil {
		return nil
	}
	if t.anchored == nil {
		t.anchored = map[uint32]map[record.Key][]uint64{}
	}
	index := map[record.Key][]uint64{}
	t.anchored[id] = index
	row, err := t.ReporterByID(id)
	if err != nil || row == nil {
		return err
	}
	return t.ByReporter(row.Name, 0, func(n uint64) (bool, error) {
		t.indexed++
		r, err := t.Report(n)
		if err != nil || r == nil {
			return err == nil, err
		}
		for i, a := range r.Anchors {
			for _, h := range a.Hashes {
				k := record.AnchorKey(r.Set.Sketches[i].Kind, h)
				index[k] = append(index[k], n)
			}
		}
		return t.indexed < maxOfMessage, nil
	})
}

// reportersOf returns the reporters who have withdrawn other reports than n with enough
// anchors of a sketch, in one report or in several.
func (t *Txn) reportersOf(n uint64, set signature.Set, anchors []record.Anchors) (reporters []uint32, err error) {
	for i, a := range anchors {
		times := map[uint32]int{}
		for _, h := range a.Hashes {
			y, err := t.Tally(record.AnchorKey(set.Sketches[i].Kind, h))
			if err != nil {
				return nil, err
			}
			here := map[uint32]bool{}
			for _, other := range y.Past {
				if r, err := t.Report(other); err != nil {
					return nil, err
				} else if r != nil && other != n && r.Flags&record.FlagWithdrawn != 0 && !here[r.Reporter] {
					here[r.Reporter] = true
					times[r.Reporter]++
				}
			}
		}
		for id, many := range times {
			if a.Need > 0 && many >= a.Need && !slices.Contains(reporters, id) {
				reporters = append(reporters, id)
			}
		}
	}
	slices.Sort(reporters)
	return reporters, nil
}

// ByReporter visits the numbers below before (0: all) of a reporter's reports, the newest first,
// until visit returns false.
func (t *Txn) ByReporter(name string, before uint64, visit func(uint64) (bool, error)) error {
	row, err := t.Reporter(name)
	if err != nil || row == nil {
		return err
	}
	c := t.By.Cursor()
	below := buckets.ByKey(row.ID, before)
	if before == 0 {
		below = buckets.ByKey(row.ID+1, 0)
	}
	for key := last(c, below); len(key) == 12 && binary.BigEndian.Uint32(key) == row.ID; key, _ = c.Prev() {
		if more, err := visit(binary.BigEndian.Uint64(key[4:])); err != nil || !more {
			return err
		}
	}
	return nil
}

// last returns the last key below another one.
func last(c *bolt.Cursor, below []byte) []byte {
	if key, _ := c.Seek(below); key == nil {
		key, _ = c.Last()
		return key
	}
	key, _ := c.Prev()
	return key
}

// Slack is the time by which reports may be out of order, because clocks jump.
const Slack = 24 * time.Hour

// After visits the records of the reports after number n, the oldest first, until visit returns an error.
func (t *Txn) After(n uint64, visit func(data []byte) error) error {
	c, from := t.Reports.Cursor(), buckets.NewNumber(n+1)
	for key, data := c.Seek(from[:]); key != nil; key, data = c.Next() {
		if err := visit(data); err != nil {
			return err
		}
	}
	return nil
}

// maxBehind bounds the older reports among which All looks for newer ones. They are the reports of a day at
// least, if a clock that was days behind was believed: it is believed after a day.
const maxBehind = 10_000

// All visits the numbers below before (0: all) of the reports since a time, the newest first,
// until visit returns false. Some may be older, by at most Slack. It ends after maxBehind reports that are
// older than that: they may be from a time when the clock was behind.
func (t *Txn) All(since time.Time, before uint64, visit func(uint64) (bool, error)) error {
	c := t.Reports.Cursor()
	var key []byte
	if before == 0 {
		key, _ = c.Last()
	} else {
		below := buckets.NewNumber(before)
		key = last(c, below[:])
	}
	for older := 0; len(key) == 8 && older <= maxBehind; key, _ = c.Prev() {
		n := buckets.Number(key).Value()
		r, err := t.Report(n)
		if err != nil {
			return err
		}
		if r != nil && r.At.Before(since.Add(-Slack)) {
			older++
			continue
		}
		if more, err := visit(n); err != nil || !more {
			return err
		}
	}
	return nil
}

// WithPrefix returns the numbers of the reports in all tallies whose keys begin with
// prefix, in order.
func (t *Txn) WithPrefix(prefix []byte) ([]uint64, error) {
	found := map[uint64]bool{}
	c := t.Tallies.Cursor()
	for key, data := c.Seek(prefix); bytes.HasPrefix(key, prefix) && len(found) < maxOfMessage; key, data = c.Next() {
		y, err := record.DecodeTally(data)
		if err != nil {
			return nil, err
		}
		for _, n := range y.Past {
			found[n] = true
		}
		err = t.EachOpinion(record.Key(key), y, func(o record.Opinion) bool {
			found[o.Report] = true
			return len(found) < maxOfMessage
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
