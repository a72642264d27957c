// Package salvage reads a whole file of the ledger before the library does. It returns what
// is damaged in it, and copies the records without faults into a new file. A file of a newer
// version is left alone. The package owns no open ledger, and it has no locks: the caller
// keeps others from writing to the file.
//
//	Inspect, Check: pagefile.Read -> each value decodes, counts and numbers agree
//	NewCopy, Run:   the same, past faults, with leaves that nothing leads to -> the new file
package salvage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/pagefile"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// MaxFaults bounds the faults of one file.
const MaxFaults = 100

// Inventory is the contents of a file. Every value in it was checked, and the buckets
// against each other.
type Inventory struct {
	Faults []error          // at most MaxFaults
	Counts map[string]int64 // records, by bucket

	sequences map[string]uint64
	largest   map[string]uint64 // number, by bucket
	claimed   map[string]int64  // counts in the bucket meta
	version   []byte
	keep      func(bucket string, kv buckets.Pair) // gets the records without faults; nil: not needed
}

func newInventory() *Inventory {
	return &Inventory{sequences: map[string]uint64{}, largest: map[string]uint64{}, Counts: map[string]int64{}, claimed: map[string]int64{}}
}

// Check reads every page and value of a file, and returns what is damaged. A file with one
// damaged header is sound, because the library uses the other one; then spare is false.
func Check(path string) (spare bool, err error) {
	v, spare, err := Inspect(path)
	return spare, errors.Join(errors.Join(v.Faults...), err)
}

// Inspect reads a whole file. The error is not nil if nothing can be read, and wraps
// record.ErrVersion for a file of a newer version, which has no faults.
func Inspect(path string) (v *Inventory, spare bool, err error) {
	v = newInventory()
	if spare, err = pagefile.Read(path, v.reader()); err == nil {
		v.compare()
	}
	if v.version == nil { // too many faults may have ended the reading before
		v.version, _ = versionOf(path)
	}
	switch e := buckets.CheckVersion(v.version); {
	case errors.Is(e, record.ErrVersion):
		return newInventory(), spare, e
	case e != nil && err == nil:
		v.fault(e)
	}
	return v, spare, err
}

// CheckVersion returns an error that wraps record.ErrVersion for a file of a newer version. It reads a
// few pages, reports no other fault, and does not need a file. It may be in use.
func CheckVersion(path string) error {
	value, err := versionOf(path)
	if errors.Is(err, record.ErrVersion) {
		return err
	}
	if err := buckets.CheckVersion(value); errors.Is(err, record.ErrVersion) {
		return err
	}
	return nil
}

// versionOf reads only the version of a file, whatever else is damaged. It is nil if there
// is none.
func versionOf(path string) (value []byte, err error) {
	_, err = pagefile.Read(path, pagefile.Reader{
		Only:   string(buckets.Meta),
		Fault:  func(error) bool { return true },
		Bucket: func(string, uint64) {},
		Take: func(bucket string, kv buckets.Pair) {
			if string(kv.Key) == string(buckets.KeyVersion) {
				value = slices.Clone(kv.Value)
			}
		},
	})
	return value, err
}

func (v *Inventory) reader() pagefile.Reader {
	return pagefile.Reader{Fault: v.fault, Take: v.take, Bucket: v.bucket, Lenient: v.keep != nil}
}

func (v *Inventory) fault(err error) bool {
	if len(v.Faults) < MaxFaults {
		v.Faults = append(v.Faults, err)
	}
	return v.keep != nil || len(v.Faults) < MaxFaults
}

func (v *Inventory) bucket(name string, sequence uint64) {
	known, ok := buckets.Nearest(name)
	if !ok || known != name {
		v.fault(fmt.Errorf("%w: bucket %.40q", record.ErrDamaged, name))
	}
	if !ok {
		return
	}
	v.sequences[known] = max(v.sequences[known], sequence)
}

// take checks one key and value.
func (v *Inventory) take(bucket string, kv buckets.Pair) {
	if _, known := v.sequences[bucket]; !known {
		name, ok := buckets.Nearest(bucket)
		if !ok {
			v.fault(fmt.Errorf("%w: %x in bucket %.40q", record.ErrDamaged, kv.Key[:min(len(kv.Key), 40)], bucket))
			return
		}
		bucket = name
	}
	if err := v.check(bucket, kv); err != nil {
		v.fault(fmt.Errorf("%s %x: %w", bucket, kv.Key[:min(len(kv.Key), 40)], err))
		return
	}
	v.Counts[bucket]++
	if v.keep != nil {
		v.keep(bucket, kv)
	}
}

func (v *Inventory) check(bucket string, kv buckets.Pair) error {
	if size, fixed := buckets.KeySizes[bucket]; fixed && len(kv.Key) != size {
		return fmt.Errorf("%w: key of %d bytes", record.ErrDamaged, len(kv.Key))
	}
	switch bucket {
	case "reports", "due", "actions":
		n := binary.BigEndian.Uint64(kv.Key)
		if n > buckets.MaxNumber {
			return fmt.Errorf("%w: number", record.ErrDamaged)
		}
		v.largest[bucket] = max(v.largest[bucket], n)
	case "reporters":
		if len(kv.Value) >= 4 {
			v.largest[bucket] = max(v.largest[bucket], uint64(binary.BigEndian.Uint32(kv.Value)))
		}
	case "meta":
		return v.checkMeta(kv)
	}
	if name, ok := buckets.ValueNames[bucket]; ok {
		return buckets.CheckValue(name, kv.Key, kv.Value)
	}
	return nil
}

func (v *Inventory) checkMeta(kv buckets.Pair) error {
	switch key := string(kv.Key); {
	case buckets.CheckMeta(kv) != nil:
	case key == string(buckets.KeyVersion):
		v.version = slices.Clone(kv.Value)
	case key == string(buckets.CountReports), key == string(buckets.CountReporters):
		v.claimed[key] = max(v.claimed[key], int64(binary.BigEndian.Uint64(kv.Value)))
	}
	return buckets.CheckMeta(kv)
}

// compare checks the counts and the last numbers in the file against its records. A number
// that is used twice would overwrite a report.
func (v *Inventory) compare() {
	names := slices.Sorted(maps.Keys(v.sequences))
	if len(names) == 0 {
		return // a new file
	}
	for _, name := range buckets.All {
		switch {
		case slices.Contains(names, string(name)):
		case string(name) == string(buckets.Meta):
			v.fault(fmt.Errorf("%w: it has a bucket %.40q and none %q", record.ErrDamaged, names[0], name))
			return
		default:
			v.fault(fmt.Errorf("%w: it has no bucket %q", record.ErrDamaged, name))
		}
	}
	for claim, bucket := range map[string]string{string(buckets.CountReports): "reports", string(buckets.CountReporters): "reporters"} {
		if v.claimed[claim] != v.Counts[bucket] {
			v.fault(fmt.Errorf("%w: it records %d %s and has %d", record.ErrDamaged, v.claimed[claim], bucket, v.Counts[bucket]))
		}
	}
	for bucket, largest := range v.largest {
		if n := v.sequences[bucket]; n < largest || n > buckets.MaxNumber || bucket == "reporters" && n > math.MaxUint32 {
			v.fault(fmt.Errorf("%w: %s are numbered up to %d, and %d is the next", record.ErrDamaged, bucket, largest, n))
		}
	}
}
