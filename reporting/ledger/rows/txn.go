package rows

import (
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Txn is a transaction with its buckets. Reporters are read once and written by Flush, because
// a job may change one several times.
type Txn struct {
	Meta, Reports, By, Tallies, Opinions, Reporters, Names, Due, Shares, Acts *bolt.Bucket

	rows  map[uint32]*record.Reporter
	ahead ahead

	anchored map[uint32]map[record.Key][]uint64 // the reports of each anchor, of some reporters: see indexAnchors
	indexed  int                                // reports read for that

	Period      time.Time       // begin of the current one, whose revocations tallies remember; zero: of none
	revocations map[uint64]bool // which reports are such revocations, of those that isRevocation has read
}

// New returns the records of a transaction.
func New(tx *bolt.Tx) *Txn {
	t := &Txn{
		Meta: tx.Bucket(buckets.Meta), Reports: tx.Bucket(buckets.Reports), By: tx.Bucket(buckets.By),
		Tallies: tx.Bucket(buckets.Tallies), Opinions: tx.Bucket(buckets.Opinions),
		Reporters: tx.Bucket(buckets.Reporters), Names: tx.Bucket(buckets.Names), Due: tx.Bucket(buckets.Due), Shares: tx.Bucket(buckets.Shares),
		Acts: tx.Bucket(buckets.Acts),
		rows: map[uint32]*record.Reporter{}, revocations: map[uint64]bool{},
	}
	// Numbers only grow, so that half of each page would stay empty.
	t.Reports.FillPercent, t.By.FillPercent = 0.95, 0.8
	return t
}

// Report reads one report; nil if it has expired.
func (t *Txn) Report(n uint64) (*record.Report, error) {
	key := buckets.NewNumber(n)
	data := t.Reports.Get(key[:])
	if data == nil {
		return nil, nil
	}
	r, err := record.DecodeReport(data)
	if err != nil {
		return nil, fmt.Errorf("report %d: %w", n, err)
	}
	return r, nil
}

func (t *Txn) PutReport(n uint64, r *record.Report) error {
	key := buckets.NewNumber(n)
	return t.Reports.Put(key[:], r.Encode())
}

// Count reads a count in the bucket meta; add changes it.
func (t *Txn) Count(of []byte) int64 { return buckets.Count(t.Meta, of) }

func (t *Txn) Add(of []byte, n int64) error {
	b := buckets.NewNumber(uint64(max(t.Count(of)+n, 0)))
	return t.Meta.Put(of, b[:])
}
