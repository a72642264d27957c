package ledger

import (
	"encoding/binary"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// Report is one report or revocation that is kept.
type Report struct {
	ID       uint64
	At       time.Time
	Stance   Stance
	Reporter string
	Trap     bool
	Class    uint8
	Origin   string
	Weight   Weight
	State    State
	Idle     bool // a revocation that waits for a listing
	Set      signature.Set
	Anchors  []Anchors
	Held     Likeness // why it was held; zero: for no reason of its own
}

// Query narrows the result of Reports. The zero value matches every report.
type Query struct {
	Set      signature.Set // only reports that share a signature, or enough anchors of a sketch, with it
	Anchors  []Anchors
	Reporter string
	Since    time.Time
	Before   uint64 // numbers below this one; 0: all
	Limit    int    // at least 1
}

// Reports returns reports, the newest first, and the Before of the next page; 0 if there are no
// more. Of a message with many reports it finds the latest and those that count, at most
// 10,000.
func (l *Ledger) Reports(q Query) (list []Report, next uint64, err error) {
	err = l.view(func(t *txn) error {
		visit := func(n uint64) (more bool, err error) {
			r, err := t.report(n)
			if err != nil || r == nil || r.At.Before(q.Since) {
				return true, err
			}
			row, err := t.reporterByID(r.Reporter)
			if err != nil || q.Reporter != "" && (row == nil || row.Name != q.Reporter) {
				return true, err
			}
			if len(list) == q.Limit {
				next = list[len(list)-1].ID
				return false, nil
			}
			p, err := t.public(n, r, row)
			list = append(list, p)
			return true, err
		}
		switch {
		case len(q.Set.Signatures)+len(q.Set.Sketches) > 0:
			return t.reportsOf(q, visit)
		case q.Reporter != "":
			return t.reportsBy(q, visit)
		}
		return t.allReports(q, visit)
	})
	return list, next, err
}

func (t *txn) public(n uint64, r *record.Report, by *record.Reporter) (Report, error) {
	p := Report{
		ID: n, At: r.At, Stance: r.Stance(), Trap: r.Flags&record.FlagTrap != 0, Class: r.Class,
		Origin: r.Origin, Weight: r.Weight, State: r.State(), Idle: r.Flags&record.FlagIdle != 0, Set: r.Set, Anchors: r.Anchors, Held: r.Held,
	}
	if by != nil {
		p.Reporter = by.Name
	}
	isHeld, err := t.isHeld(n, r)
	if isHeld {
		p.State = Held
	}
	return p, err
}

// isHeld reports whether a report still waits for a second reporter: neither its first signature
// has one, nor a near-duplicate. Its flags would not tell, as in StandsBy.
func (t *txn) isHeld(n uint64, r *record.Report) (bool, error) {
	if r.Stance() == Ham {
		return false, nil
	}
	listed := map[record.Key]Weight{}
	for i, k := range record.KeysOf(r.Set, r.Anchors) { // the first signature is the first key
		y, err := t.tally(k)
		if err != nil {
			return false, err
		}
		if i == 0 {
			o, ok, err := t.opinionOf(k, y, r.Reporter)
			if err != nil || !ok || o.Report != n || !y.IsWaiting() {
				return false, err
			}
		}
		if y.Listed {
			listed[k] = t.l.quorum
		}
	}
	return !record.Reach(r.Set, r.Anchors, func(k record.Key) Weight { return listed[k] }, t.l.quorum).IsText(), nil
}

// maxOfMessage bounds the reports of one message that are read.
const maxOfMessage = 10_000

// reportsOf visits the reports of a message. Reports that have only anchors in common with it
// must have as many as would list its sketch.
func (t *txn) reportsOf(q Query, visit func(uint64) (bool, error)) error {
	found := map[uint64]bool{}
	gather := func(k record.Key, add func(uint64)) error {
		y, err := t.tally(k)
		if err != nil {
			return err
		}
		for _, n := range y.Past {
			add(n)
		}
		return t.eachOpinion(k, y, func(o record.Opinion) bool {
			add(o.Report)
			return len(found) < maxOfMessage
		})
	}
	for _, s := range q.Set.Signatures {
		if err := gather(record.SignatureKey(s), func(n uint64) { found[n] = true }); err != nil {
			return err
		}
	}
	for i, a := range q.Anchors {
		common := map[uint64]int{}
		for _, h := range a.Hashes {
			if err := gather(record.AnchorKey(q.Set.Sketches[i].Kind, h), func(n uint64) { common[n]++ }); err != nil {
				return err
			}
		}
		for n, times := range common {
			if a.Need > 0 && times >= a.Need {
				found[n] = true
			}
		}
	}
	numbers := make([]uint64, 0, len(found))
	for n := range found {
		if q.Before == 0 || n < q.Before {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range slices.Backward(numbers) {
		if more, err := visit(n); err != nil || !more {
			return err
		}
	}
	return nil
}

// reportsBy visits the reports of a reporter.
func (t *txn) reportsBy(q Query, visit func(uint64) (bool, error)) error {
	row, err := t.reporter(q.Reporter)
	if err != nil || row == nil {
		return err
	}
	c := t.by.Cursor()
	below := buckets.ByKey(row.ID, q.Before)
	if q.Before == 0 {
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

// slack is the time by which reports may be out of order, because clocks jump.
const slack = 24 * time.Hour

func (t *txn) allReports(q Query, visit func(uint64) (bool, error)) error {
	c := t.reports.Cursor()
	var key []byte
	if q.Before == 0 {
		key, _ = c.Last()
	} else {
		below := buckets.NewNumber(q.Before)
		key = last(c, below[:])
	}
	for len(key) == 8 {
		n := buckets.Number(key).Value()
		r, err := t.report(n)
		if err != nil {
			return err
		}
		if r != nil && r.At.Before(q.Since.Add(-slack)) {
			return nil
		}
		if more, err := visit(n); err != nil || !more {
			return err
		}
		key, _ = c.Prev()
	}
	return nil
}

// Reported reports whether any reporter with a weight reported a message or a near-duplicate, or
// whether the message was revoked after that. Only then there is something to revoke.
func (l *Ledger) Reported(set signature.Set, anchors []Anchors) (found bool, err error) {
	err = l.view(func(t *txn) error {
		sums := map[record.Key]Weight{}
		for _, k := range record.KeysOf(set, anchors) {
			y, err := t.tally(k)
			if err != nil {
				return err
			}
			sums[k] = y.Sums[Spam]
			if y.IsRevoked() && slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return record.SignatureKey(s) == k }) {
				sums[k] = 1
			}
		}
		found = record.Reach(set, anchors, func(k record.Key) Weight { return sums[k] }, 1).Any()
		return nil
	})
	return found, err
}

// Reporter is a reporter, with the weight of a report that is made now.
type Reporter struct {
	Name                 string
	Weight               Weight
	Override             *Weight // set by an administrator; nil: by reputation
	Reputation           trust.Reputation
	Reports, Revocations uint64 // ever
	First, Last          time.Time
}

func (l *Ledger) publicReporter(r *record.Reporter, now time.Time) Reporter {
	p := Reporter{
		Name: r.Name, Weight: l.weight(r, false, now), Reputation: l.opt.Model.At(r.Reputation, now),
		Reports: r.Reports, Revocations: r.Revocations, First: r.First, Last: r.Last,
	}
	if r.Fixed {
		w := r.Override
		p.Override = &w
	}
	return p
}

// Reporter returns the reporter of a name. ok is false if nobody of that name has reported.
func (l *Ledger) Reporter(name string, now time.Time) (p Reporter, ok bool, err error) {
	err = l.view(func(t *txn) error {
		r, err := t.reporter(name)
		if err == nil && r != nil {
			p, ok = l.publicReporter(r, now), true
		}
		return err
	})
	return p, ok, err
}

// Reporters returns at most limit reporters by name, after another name.
func (l *Ledger) Reporters(after string, limit int, now time.Time) (list []Reporter, err error) {
	err = l.view(func(t *txn) error {
		c := t.reporters.Cursor()
		for name, data := c.Seek([]byte(after + "\x00")); name != nil && len(list) < limit; name, data = c.Next() {
			r, err := record.DecodeReporter(string(name), data)
			if err != nil {
				return err
			}
			list = append(list, l.publicReporter(r, now))
		}
		return nil
	})
	return list, err
}

// SetWeight sets the weight of a reporter, who need not have reported. With nil the reputation
// counts again. When the error is nil, that is on disk.
func (l *Ledger) SetWeight(name string, weight *float64, now time.Time) (p Reporter, err error) {
	if err := record.CheckName(name); err != nil {
		return p, err
	}
	err = l.commit(func(t *txn) (refused, err error) {
		r, err := t.reporter(name)
		if err != nil {
			return nil, err
		}
		if r == nil {
			if t.count(buckets.CountReporters) >= maxReporters {
				return ErrFull, nil
			}
			if r, err = t.newReporter(name, now); err != nil {
				return nil, err
			}
		}
		r.Fixed, r.Override, r.Dirty = weight != nil, 0, true
		if weight != nil {
			r.Override = record.NewWeight(*weight)
		}
		p = l.publicReporter(r, now)
		return nil, t.flush()
	})
	return p, err
}

// Status is the size of a ledger.
type Status struct {
	Reports   int64  `json:"reports"`   // that are kept
	Reporters int64  `json:"reporters"` // that are kept
	Due       int    `json:"due"`       // decisions that are not carried out yet
	Bytes     int64  `json:"bytes"`     // of the file
	Error     string `json:"error,omitempty"`
}

// Status takes little time, whatever the size of the ledger.
func (l *Ledger) Status() (s Status, err error) {
	err = l.view(func(t *txn) error {
		s.Reports, s.Reporters = t.count(buckets.CountReports), t.count(buckets.CountReporters)
		s.Due = t.due.Stats().KeyN
		s.Bytes = t.reports.Tx().Size()
		return nil
	})
	if fault := l.Fault(); fault != nil {
		s.Error = fault.Error()
	}
	return s, err
}
