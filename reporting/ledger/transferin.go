package ledger

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/trust"
)

// bucketImported says which reports came by imports: id of their ledger, their number
// there -> number here. It is there once something was imported.
var bucketImported = []byte("imported")

// What one transaction of an import takes at most.
const (
	importBatch = 500     // records
	importBytes = 2 << 20 // bytes of these
)

// ImportOptions say how an export is taken.
type ImportOptions struct {
	// Open begins the export once more; it is read twice, or with Relist three times.
	Open func() (io.Reader, error)

	Now    time.Time
	Period time.Time // begin of the current period

	// CheckText refuses what may not stand in a name or an origin.
	CheckText func(string) error

	// OtherKey says that the export was made under another federation key: then nothing
	// is taken of its sketches, which are kept under the key.
	OtherKey bool

	// Relist says that the filters do not come with it: what has the quorum by reports
	// of this period is due to be listed, or revoked.
	Relist bool
}

// Imported says what came of an import.
type Imported struct {
	Reporters int64 // that were not known
	Reports   int64 // likewise
	Known     int64 // reports that had been taken before
	Old       int64 // reports that are past Memory, and were left out
	Due       int64 // decisions that are due by it, see Ledger.Due
}

// Import joins what another ledger holds, or an earlier life of this one. The whole
// export is read and checked before anything is taken, and to take it twice changes
// nothing. Errors wrap ErrExport where it is at fault, and are ErrFull or ErrClosed or
// those of the disk; after one of the last a part of it may have been taken, and the
// rest is when the import is repeated.
//
// Where both know something, the later word of a reporter counts, a revocation closes
// the case of all reports before it, and of a reporter the greater experience is kept;
// an override that stands here stays.
func (l *Ledger) Import(o ImportOptions) (sum Imported, err error) {
	if err := l.CheckImport(o); err != nil {
		return sum, err
	}
	if err := l.sweepImported(); err != nil {
		return sum, err
	}
	m := &importing{l: l, o: o, reporters: map[uint32]uint32{}}
	if err := l.view(func(t *txn) error { m.begun = t.reports.Sequence(); return nil }); err != nil {
		return sum, err
	}
	if err := l.beginRun(); err != nil {
		return sum, err
	}
	err = m.read(m.take)
	if err := errors.Join(err, l.beginRun()); err != nil {
		return m.sum, err
	}
	if o.Relist {
		return m.sum, m.read(m.relist)
	}
	return m.sum, nil
}

// importing is an import at work.
type importing struct {
	l         *Ledger
	o         ImportOptions
	from      ledgerID
	same      bool              // it is of this very ledger
	begun     uint64            // number of the last report before the import
	reporters map[uint32]uint32 // number there -> number here
	tally     *tally            // that was read last
	sum       Imported
}

// read hands the records to do, some in each transaction.
func (m *importing) read(do func(*txn, record) error) error {
	r, err := m.o.Open()
	if err != nil {
		return err
	}
	from, records, err := readExport(r)
	if err != nil {
		return err
	}
	own, err := m.l.id()
	if err != nil {
		return err
	}
	m.from, m.same = from, from == own
	batch, bytes := make([]record, 0, importBatch), 0
	flush := func() error {
		err := m.l.commit(func(t *txn, _ *job) error {
			before := m.sum // a transaction that fails took nothing
			for _, rec := range batch {
				if err := do(t, rec); err != nil {
					m.sum = before
					return err
				}
			}
			return t.flush()
		})
		batch, bytes = batch[:0], 0
		return err
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		batch, bytes = append(batch, rec), bytes+rec.size
		if len(batch) == importBatch || bytes >= importBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// take joins one record.
func (m *importing) take(t *txn, rec record) error {
	switch rec.kind {
	case recordReporter:
		return m.takeReporter(t, rec.row)
	case recordReport:
		return m.takeReport(t, rec.number, rec.report)
	case recordTally:
		m.tally = rec.tally
		return m.takeTally(t, rec.key, rec.tally)
	case recordOpinion:
		more := *m.tally
		more.inline = []opinion{rec.opinion}
		return m.takeTally(t, rec.key, &more)
	}
	return nil
}

func (m *importing) takeReporter(t *txn, in *row) error {
	r, err := t.reporter(in.name)
	if err != nil {
		return err
	}
	in.first, in.last = m.past(in.first), m.past(in.last)
	in.reputation.At = m.past(in.reputation.At)
	if r == nil {
		if r, err = t.newReporter(in.name, in.first); err != nil {
			return err
		}
		m.sum.Reporters++
		id := r.id
		*r = *in
		r.id, r.dirty = id, true
	} else {
		t.join(r, in)
	}
	m.reporters[in.id] = r.id
	return nil
}

// past is a time that is not after now: clocks differ, and what is of the future would
// never age.
func (m *importing) past(at time.Time) time.Time {
	if at.After(m.o.Now) {
		return m.o.Now.Truncate(time.Second).UTC()
	}
	return at
}

// join is what is known of a reporter from two sides.
func (t *txn) join(r, in *row) {
	before := *r
	if in.first.Before(r.first) {
		r.first = in.first
	}
	if in.last.After(r.last) {
		r.last = in.last
	}
	r.reports, r.revocations = max(r.reports, in.reports), max(r.revocations, in.revocations)
	at := r.reputation.At
	if in.reputation.At.After(at) {
		at = in.reputation.At
	}
	here, there := t.l.opt.Model.At(r.reputation, at), t.l.opt.Model.At(in.reputation, at)
	r.reputation = trust.Reputation{Confirmed: max(here.Confirmed, there.Confirmed), Refuted: max(here.Refuted, there.Refuted), At: at}
	if !r.fixed {
		r.fixed, r.override = in.fixed, in.override
	}
	r.dirty = r.dirty || *r != before
}

// takeReport writes a report that was not taken before.
func (m *importing) takeReport(t *txn, there uint64, r *report) error {
	by, ok := m.reporters[r.reporter]
	if r.at = m.past(r.at); !ok || r.at.Before(m.o.Now.Add(-t.l.opt.Memory)) {
		m.sum.Old++
		return nil
	}
	r.reporter = by
	here, err := m.numberOf(t, there)
	if err != nil {
		return err
	}
	if here != 0 {
		known, err := t.report(here)
		if err != nil {
			return err
		}
		// A file that was put back from a copy gives its numbers a second time.
		if known != nil && known.reporter == by && known.at.Equal(r.at) && known.stance() == r.stance() {
			m.sum.Known++
			return nil
		}
	}
	if m.o.OtherKey {
		r.set.Sketches, r.anchors = nil, nil
	}
	if here, err = t.reports.NextSequence(); err != nil {
		return err
	}
	m.sum.Reports++
	return errors.Join(t.putReport(here, r), t.by.Put(byKey(by, here), nil), t.add(countReports, 1), t.keep(r, 1), m.putNumber(t, there, here))
}

// numberOf is the number here of a report there; 0: it was not taken, or is forgotten.
func (m *importing) numberOf(t *txn, there uint64) (uint64, error) {
	if b := t.imported(); b != nil {
		if n := b.Get(m.importedKey(there)); len(n) == len(number{}) {
			return number(n).value(), nil
		}
	}
	if !m.same {
		return 0, nil
	}
	r, err := t.report(there)
	if r == nil || err != nil {
		return 0, err
	}
	return there, nil
}

func (m *importing) importedKey(there uint64) []byte {
	return binary.BigEndian.AppendUint64(m.from[:len(m.from):len(m.from)], there)
}

func (m *importing) putNumber(t *txn, there, here uint64) error {
	b, err := t.meta.Tx().CreateBucketIfNotExists(bucketImported)
	if err != nil {
		return err
	}
	n := newNumber(here)
	return b.Put(m.importedKey(there), n[:])
}

func (t *txn) imported() *bolt.Bucket { return t.meta.Tx().Bucket(bucketImported) }

// relist puts down what is due by a report of this period.
func (m *importing) relist(t *txn, rec record) error {
	if rec.kind != recordReport || m.past(rec.report.at).Before(m.o.Period) {
		return nil
	}
	n, err := m.numberOf(t, rec.number)
	if err != nil || n == 0 {
		return err
	}
	return m.due(t, n)
}

// sweepImported forgets which imports brought reports that are forgotten themselves.
func (l *Ledger) sweepImported() error {
	var next []byte
	for {
		err := l.commit(func(t *txn, _ *job) error {
			if t.imported() == nil {
				return nil
			}
			c := t.imported().Cursor()
			var gone [][]byte
			key, value := c.Seek(next)
			for range importBatch {
				if key == nil {
					break
				}
				if t.reports.Get(value) == nil {
					gone = append(gone, append([]byte(nil), key...))
				}
				key, value = c.Next()
			}
			next = append([]byte(nil), key...)
			for _, key := range gone {
				if err := t.imported().Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(next) == 0 {
			return err
		}
	}
}
