package ledger

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// The buckets; FORMAT.md says what stands in them.
var (
	bucketMeta      = []byte("meta")
	bucketReports   = []byte("reports")   // number -> report
	bucketBy        = []byte("by")        // reporter, number -> nothing
	bucketTallies   = []byte("tallies")   // key -> tally
	bucketOpinions  = []byte("opinions")  // key, reporter -> opinion: those that a tally has no room for
	bucketReporters = []byte("reporters") // name -> reporter
	bucketNames     = []byte("names")     // reporter -> name
	bucketDue       = []byte("due")       // number -> decision that was not settled
	bucketShares    = []byte("shares")    // party -> share

	buckets = [][]byte{bucketMeta, bucketReports, bucketBy, bucketTallies, bucketOpinions, bucketReporters, bucketNames, bucketDue, bucketShares}

	keyVersion = []byte("version")
	keySweep   = []byte("sweep") // the name up to which reporters were looked at

	countReports   = []byte("count of reports")
	countReporters = []byte("count of reporters")
)

// number is a number as a key: big-endian, so that keys are in order.
type number [8]byte

func newNumber(n uint64) (b number) {
	binary.BigEndian.PutUint64(b[:], n)
	return b
}

func (n number) value() uint64 { return binary.BigEndian.Uint64(n[:]) }

// txn is a transaction with its buckets at hand. Reporters are read once and written
// at the end of a job, as a job may change one several times.
type txn struct {
	l *Ledger

	meta, reports, by, tallies, opinions, reporters, names, due, shares *bolt.Bucket

	rows  map[uint32]*row
	ahead ahead
}

func newTxn(tx *bolt.Tx, l *Ledger) *txn {
	t := &txn{
		l: l, meta: tx.Bucket(bucketMeta), reports: tx.Bucket(bucketReports), by: tx.Bucket(bucketBy),
		tallies: tx.Bucket(bucketTallies), opinions: tx.Bucket(bucketOpinions),
		reporters: tx.Bucket(bucketReporters), names: tx.Bucket(bucketNames), due: tx.Bucket(bucketDue), shares: tx.Bucket(bucketShares),
		rows: map[uint32]*row{},
	}
	// Numbers only grow: half of each page would stay empty.
	t.reports.FillPercent, t.by.FillPercent = 0.95, 0.8
	return t
}

// report reads one report; nil where it was forgotten.
func (t *txn) report(n uint64) (*report, error) {
	key := newNumber(n)
	data := t.reports.Get(key[:])
	if data == nil {
		return nil, nil
	}
	r, err := decodeReport(data)
	if err != nil {
		return nil, fmt.Errorf("report %d: %w", n, err)
	}
	return r, nil
}

func (t *txn) putReport(n uint64, r *report) error {
	key := newNumber(n)
	return t.reports.Put(key[:], r.encode())
}

// count is a number that is kept beside what it counts; add changes it.
func (t *txn) count(of []byte) int64 { return countOf(t.meta, of) }

// countOf reads a number from the bucket meta.
func countOf(meta *bolt.Bucket, of []byte) int64 {
	if b := meta.Get(of); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (t *txn) add(of []byte, n int64) error {
	b := newNumber(uint64(max(t.count(of)+n, 0)))
	return t.meta.Put(of, b[:])
}

func byKey(reporter uint32, n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, reporter), n)
}
