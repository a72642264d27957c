package ledger

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// txn is a transaction with its buckets. Reporters are read once and written at the end of a
// job, because a job may change one several times.
type txn struct {
	l *Ledger

	meta, reports, by, tallies, opinions, reporters, names, due, shares *bolt.Bucket

	rows  map[uint32]*record.Reporter
	ahead ahead
}

func newTxn(tx *bolt.Tx, l *Ledger) *txn {
	t := &txn{
		l: l, meta: tx.Bucket(buckets.Meta), reports: tx.Bucket(buckets.Reports), by: tx.Bucket(buckets.By),
		tallies: tx.Bucket(buckets.Tallies), opinions: tx.Bucket(buckets.Opinions),
		reporters: tx.Bucket(buckets.Reporters), names: tx.Bucket(buckets.Names), due: tx.Bucket(buckets.Due), shares: tx.Bucket(buckets.Shares),
		rows: map[uint32]*record.Reporter{},
	}
	// Numbers only grow, so that half of each page would stay empty.
	t.reports.FillPercent, t.by.FillPercent = 0.95, 0.8
	return t
}

// report reads one report; nil if it has expired.
func (t *txn) report(n uint64) (*record.Report, error) {
	key := buckets.NewNumber(n)
	data := t.reports.Get(key[:])
	if data == nil {
		return nil, nil
	}
	r, err := record.DecodeReport(data)
	if err != nil {
		return nil, fmt.Errorf("report %d: %w", n, err)
	}
	return r, nil
}

func (t *txn) putReport(n uint64, r *record.Report) error {
	key := buckets.NewNumber(n)
	return t.reports.Put(key[:], r.Encode())
}

// count reads a count in the bucket meta; add changes it.
func (t *txn) count(of []byte) int64 { return buckets.Count(t.meta, of) }

func (t *txn) add(of []byte, n int64) error {
	b := buckets.NewNumber(uint64(max(t.count(of)+n, 0)))
	return t.meta.Put(of, b[:])
}
