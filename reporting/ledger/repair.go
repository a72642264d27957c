package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Repaired says what Repair did.
type Repaired struct {
	Faults   []error // that were found, at most 100; none: the file was left alone
	Reports  int64   // that the new file has
	Lost     int64   // reports that the old one counted beside them
	Rescued  int64   // of Reports, those that were found in pages which nothing led to any more
	Unsure   bool    // others may be lost, too: how many there were is not known
	Tallies  int     // that were lost and counted anew from the reports
	Damaged  string  // path under which the damaged file is kept
	Reporter int64   // reporters that the new file has
}

const damagedSuffix = ".damaged"

// Repair copies every record of a damaged file that is right into a new one, counts lost
// tallies anew, and keeps the damaged file as NAME.damaged. A file that is sound stays as
// it is. Records that nothing leads to any more are searched for in all pages. The ledger
// must not be open. Errors wrap ErrVersion where the file is of a newer version: it is left alone.
func Repair(o Options) (done Repaired, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	found, _, err := inspect(o.Path)
	switch {
	case err != nil && !errors.Is(err, ErrDamaged):
		return done, fmt.Errorf("ledger %s: %w", o.Path, err)
	case err == nil && len(found.faults) == 0:
		return Repaired{Reports: found.counts["reports"], Reporter: found.counts["reporters"]}, nil
	}
	fresh := o.Path + ".repaired"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	c, err := newCopying(fresh)
	if err != nil {
		return done, fmt.Errorf("ledger %s: %w", fresh, err)
	}
	defer os.Remove(fresh)
	done, err = c.run(o.Path)
	if err = errors.Join(err, c.close()); err != nil {
		return done, fmt.Errorf("ledger %s: %w", o.Path, err)
	}
	if len(done.Faults) == 0 {
		done.Faults = found.faults // a page's head was read more leniently
	}
	if done.Tallies, err = recount(o, fresh, done.Reports); err != nil {
		return done, err
	}
	done.Damaged = o.Path + damagedSuffix
	return done, errors.Join(replaceFile(o.Path, fresh, done.Damaged))
}

// copying writes the records of a damaged file into a new one.
type copying struct {
	*inventory
	db  *bolt.DB
	tx  *bolt.Tx
	n   int
	err error // the first of the new file

	rescuing bool             // the record is of a leaf that nothing leads to
	rescued  int64            // reports of such leaves
	stale    bool             // some of them may be of earlier transactions
	found    map[string]int64 // records by bucket, before leaves of earlier transactions
}

func newCopying(path string) (*copying, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	c := &copying{inventory: newInventory(), db: db}
	c.inventory.keep = c.put
	return c, c.begin()
}

func (c *copying) begin() (err error) {
	if c.tx, err = c.db.Begin(true); err != nil {
		return err
	}
	for _, name := range buckets {
		if _, err := c.tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// copyBatch is how many records one transaction of a copy takes.
const copyBatch = 5000

// put copies a record, and what follows from it: by and names are not taken from the
// damaged file.
func (c *copying) put(bucket string, kv keyValue) {
	if c.err != nil || bucket == "by" || bucket == "names" {
		return
	}
	if c.n++; c.n%copyBatch == 0 {
		if c.err = errors.Join(c.tx.Commit(), c.begin()); c.err != nil {
			return
		}
	}
	if b := c.tx.Bucket([]byte(bucket)); b != nil && b.Get(kv.key) != nil {
		c.counts[bucket]-- // a damaged key: whose record this was is not known
		if !c.rescuing || !isLater(bucket, kv.value, b.Get(kv.key)) {
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
	put([]byte(bucket), kv.key, kv.value)
	switch bucket {
	case "reports":
		if r, err := decodeReport(kv.value); err == nil {
			put(bucketBy, byKey(r.reporter, binary.BigEndian.Uint64(kv.key)), nil)
			c.largest["reporters"] = max(c.largest["reporters"], uint64(r.reporter))
		}
	case "reporters":
		put(bucketNames, kv.value[:4], kv.key)
	}
}

// spareNumbers are left out where it is not known which numbers were given: none is to be
// given twice.
const spareNumbers = 1 << 20

// run reads the damaged file and closes the copy with its counts.
func (c *copying) run(path string) (done Repaired, err error) {
	reader := c.reader()
	reader.orphans = c.orphans
	if _, err := readPages(path, reader); err != nil {
		return done, err
	}
	if err := checkVersion(c.version); errors.Is(err, ErrVersion) {
		return done, err
	} else if err != nil {
		c.fault(err)
	}
	c.compare()
	done = Repaired{Faults: c.faults, Reports: c.counts["reports"], Reporter: c.counts["reporters"]}
	claimed, known := c.claimed[string(countReports)]
	done.Lost, done.Rescued, done.Unsure = max(0, claimed-done.Reports), c.rescued, !known || c.stale
	if c.err != nil {
		return done, c.err
	}
	m := c.tx.Bucket(bucketMeta)
	for key, n := range map[string]int64{string(countReports): done.Reports, string(countReporters): done.Reporter} {
		b := newNumber(uint64(n))
		c.err = errors.Join(c.err, m.Put([]byte(key), b[:]))
	}
	for _, bucket := range [][]byte{bucketReports, bucketDue, bucketReporters} {
		n, known := c.sequences[string(bucket)]
		if n < c.largest[string(bucket)] || n > 1<<40 {
			n = c.largest[string(bucket)] + 1
		}
		if !known || c.rescued > 0 || c.stale {
			n += spareNumbers
		}
		c.err = errors.Join(c.err, c.tx.Bucket(bucket).SetSequence(n))
	}
	return done, errors.Join(c.err, m.Put(keyVersion, versionValue(version)))
}

func (c *copying) close() error {
	return errors.Join(c.tx.Commit(), c.db.Sync(), c.db.Close())
}

// recountBatch is how many reports there are for each pass of a recount, which has their
// tallies in memory.
const recountBatch = 500_000

// recount opens the new file and counts the tallies that are lost: each report that
// stands is its reporter's word.
func recount(o Options, path string, reports int64) (n int, err error) {
	o.Path = path
	l, err := Open(o)
	if err != nil {
		return 0, err
	}
	passes := 1 + reports/recountBatch
	for pass := range passes {
		mine := func(k Key) bool { return int64(binary.BigEndian.Uint16(k[1:]))%passes == pass }
		if err == nil {
			err = l.commit(func(t *txn) (refused, err error) {
				lost, err := t.recountLost(mine)
				n += len(lost)
				return nil, err
			})
		}
	}
	return n, errors.Join(err, l.Close())
}

// recountLost counts the tallies of a pass.
func (t *txn) recountLost(mine func(Key) bool) (map[Key]*tally, error) {
	lost := map[Key]*tally{}
	cursor := t.reports.Cursor()
	for key, data := cursor.First(); key != nil; key, data = cursor.Next() {
		r, err := decodeReport(data)
		if err != nil || r.state() != Counts {
			continue
		}
		t.recountReport(lost, mine, number(key).value(), r)
	}
	for k, y := range lost {
		y.listed = y.sums[Spam] >= t.l.quorum
		if err := t.putTally(k, y); err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// recountReport adds a report to those of its tallies that are lost.
func (t *txn) recountReport(lost map[Key]*tally, mine func(Key) bool, n uint64, r *report) {
	for _, k := range keysOf(r.set, r.anchors) {
		if !mine(k) {
			continue
		}
		if lost[k] == nil {
			if t.tallies.Get(k[:]) != nil {
				continue
			}
			lost[k] = &tally{}
		}
		if y := lost[k]; len(y.inline) < maxInline {
			y.sums[r.stance()] += r.weight
			y.inline = append(y.inline, opinion{reporter: r.reporter, report: n, at: r.at, weight: r.weight, ham: r.stance() == Ham})
		}
	}
}
