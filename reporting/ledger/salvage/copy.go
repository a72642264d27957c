package salvage

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/pagefile"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Repaired is the result of a repair.
type Repaired struct {
	Faults   []error // at most 100; none: the file was sound and is unchanged
	Reports  int64   // in the new file
	Lost     int64   // reports that the old file counted, and the new one does not have
	Rescued  int64   // of Reports, those from pages that nothing led to
	Unsure   bool    // more reports may be lost: their number is not known
	Tallies  int     // that were lost and recounted from the reports
	Damaged  string  // path under which the damaged file is kept
	Reporter int64   // reporters in the new file
}

// Copy writes the records of a damaged file into a new one.
type Copy struct {
	*Inventory
	db  *bolt.DB
	tx  *bolt.Tx
	n   int
	err error // the first error of the new file

	rescuing bool             // the record comes from a leaf that nothing leads to
	rescued  int64            // reports from such leaves
	stale    bool             // some of them may be from earlier transactions
	found    map[string]int64 // records by bucket, without leaves of earlier transactions
}

// NewCopy makes the new file.
func NewCopy(path string) (*Copy, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	c := &Copy{Inventory: newInventory(), db: db}
	c.Inventory.keep = c.put
	return c, c.begin()
}

func (c *Copy) begin() (err error) {
	if c.tx, err = c.db.Begin(true); err != nil {
		return err
	}
	for _, name := range buckets.All {
		if _, err := c.tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// copyBatch is the number of records in one transaction.
const copyBatch = 5000

// put copies a record. The buckets by and names are made from reports and reporters, not
// copied.
func (c *Copy) put(bucket string, kv buckets.Pair) {
	if c.err != nil || bucket == "by" || bucket == "names" {
		return
	}
	if c.n++; c.n%copyBatch == 0 {
		if c.err = errors.Join(c.tx.Commit(), c.begin()); c.err != nil {
			return
		}
	}
	if b := c.tx.Bucket([]byte(bucket)); b != nil && b.Get(kv.Key) != nil {
		c.Counts[bucket]-- // one of the two keys is damaged
		if !c.rescuing || !buckets.IsLater(bucket, kv.Value, b.Get(kv.Key)) {
			return
		}
	}
	put := func(bucket []byte, key, value []byte) {
		b, err := c.tx.CreateBucketIfNotExists(bucket)
		if err == nil {
			err = b.Put(key, value)
		}
		c.err = errors.Join(c.err, err)
	}
	put([]byte(bucket), kv.Key, kv.Value)
	switch bucket {
	case "reports":
		if r, err := record.DecodeReport(kv.Value); err == nil {
			put(buckets.By, buckets.ByKey(r.Reporter, binary.BigEndian.Uint64(kv.Key)), nil)
			c.largest["reporters"] = max(c.largest["reporters"], uint64(r.Reporter))
		}
	case "reporters":
		put(buckets.Names, kv.Value[:4], kv.Key)
	}
}

// spareNumbers are skipped if the last number in use is not known, so that no number is
// used twice.
const spareNumbers = 1 << 20

// Run reads the damaged file, and writes the counts of the new one.
func (c *Copy) Run(path string) (done Repaired, err error) {
	reader := c.reader()
	reader.Orphans = c.orphans
	if _, err := pagefile.Read(path, reader); err != nil {
		return done, err
	}
	if err := buckets.CheckVersion(c.version); errors.Is(err, record.ErrVersion) {
		return done, err
	} else if err != nil {
		c.fault(err)
	}
	c.compare()
	done = Repaired{Faults: c.Faults, Reports: c.Counts["reports"], Reporter: c.Counts["reporters"]}
	claimed, known := c.claimed[string(buckets.CountReports)]
	done.Lost, done.Rescued, done.Unsure = max(0, claimed-done.Reports), c.rescued, !known || c.stale
	if c.err != nil {
		return done, c.err
	}
	m := c.tx.Bucket(buckets.Meta)
	for key, n := range map[string]int64{string(buckets.CountReports): done.Reports, string(buckets.CountReporters): done.Reporter} {
		b := buckets.NewNumber(uint64(n))
		c.err = errors.Join(c.err, m.Put([]byte(key), b[:]))
	}
	for _, bucket := range [][]byte{buckets.Reports, buckets.Due, buckets.Reporters, buckets.Acts} {
		n, known := c.sequences[string(bucket)]
		most := uint64(1 << 40)
		if string(bucket) == "reporters" {
			most = math.MaxUint32 - spareNumbers // they have 32 bits
		}
		if n < c.largest[string(bucket)] || n > most {
			n = c.largest[string(bucket)] + 1
		}
		if !known || c.rescued > 0 || c.stale {
			n += spareNumbers
		}
		c.err = errors.Join(c.err, c.tx.Bucket(bucket).SetSequence(n))
	}
	return done, errors.Join(c.err, m.Put(buckets.KeyVersion, buckets.VersionValue(buckets.Version)))
}

// Close makes the new file durable.
func (c *Copy) Close() error {
	return errors.Join(c.tx.Commit(), c.db.Sync(), c.db.Close())
}

// orphans copies the records of a leaf that nothing leads to.
func (c *Copy) orphans(records []buckets.Pair, age pagefile.Age) {
	bucket := buckets.Of(records)
	if age == pagefile.Earlier && c.found == nil {
		c.found = maps.Clone(c.Counts)
	}
	switch {
	case bucket == "", age == pagefile.Earlier && c.found[bucket] > 0:
		return
	case age != pagefile.Current && (bucket == "tallies" || bucket == "opinions" || bucket == "due"):
		return
	}
	c.stale = c.stale || age != pagefile.Current && bucket == "reports"
	c.rescuing = true
	before := c.Counts["reports"]
	for _, kv := range records {
		if buckets.Fits(bucket, kv) {
			c.take(bucket, kv)
		}
	}
	c.rescued += c.Counts["reports"] - before
	c.rescuing = false
}
