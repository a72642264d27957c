package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// inventory is what readPages finds in a file: it checks every value, and what the
// buckets say of each other.
type inventory struct {
	faults    []error
	sequences map[string]uint64
	largest   map[string]uint64 // number in a bucket
	counts    map[string]int64
	claimed   map[string]int64 // counts as bucketMeta has them
	version   []byte
	keep      func(bucket string, kv keyValue) // of what is right; nil: nothing
}

func newInventory() *inventory {
	return &inventory{sequences: map[string]uint64{}, largest: map[string]uint64{}, counts: map[string]int64{}, claimed: map[string]int64{}}
}

// sound reads every page and value of a file, and names what is damaged. A file with one
// damaged header is sound: the library uses the other one, and spare is false.
func sound(path string) (spare bool, err error) {
	v, spare, err := inspect(path)
	return spare, errors.Join(errors.Join(v.faults...), err)
}

// inspect finds at most maxFaults faults, and returns an error where nothing can be read. A
// file of a newer version has no faults, but an error that wraps ErrVersion.
func inspect(path string) (v *inventory, spare bool, err error) {
	v = newInventory()
	if spare, err = readPages(path, v.reader()); err == nil {
		v.compare()
	}
	if v.version == nil { // the faults may have ended the search before
		v.version = versionOf(path)
	}
	switch e := checkVersion(v.version); {
	case errors.Is(e, ErrVersion):
		return newInventory(), spare, e
	case e != nil && err == nil:
		v.fault(e)
	}
	return v, spare, err
}

// versionOf reads only the version of a file, whatever else is damaged; nil: it is not found.
func versionOf(path string) (value []byte) {
	_, _ = readPages(path, pageReader{
		fault:  func(error) bool { return true },
		bucket: func(string, uint64) {},
		take: func(bucket string, kv keyValue) {
			if bucket == string(bucketMeta) && string(kv.key) == string(keyVersion) {
				value = slices.Clone(kv.value)
			}
		},
	})
	return value
}

func (v *inventory) reader() pageReader {
	return pageReader{fault: v.fault, take: v.take, bucket: v.bucket, lenient: v.keep != nil}
}

func (v *inventory) fault(err error) bool {
	if len(v.faults) < maxFaults {
		v.faults = append(v.faults, err)
	}
	return v.keep != nil || len(v.faults) < maxFaults
}

// nearest is the bucket whose name differs from a damaged one in one byte at most.
func nearest(name string) (string, bool) {
	for _, known := range buckets {
		if len(known) != len(name) {
			continue
		}
		differ := 0
		for i := range known {
			if known[i] != name[i] {
				differ++
			}
		}
		if differ <= 1 {
			return string(known), true
		}
	}
	return "", false
}

func (v *inventory) bucket(name string, sequence uint64) {
	known, ok := nearest(name)
	if !ok || known != name {
		v.fault(fmt.Errorf("%w: bucket %.40q", ErrDamaged, name))
	}
	v.sequences[known] = max(v.sequences[known], sequence)
}

// take checks one key and value.
func (v *inventory) take(bucket string, kv keyValue) {
	if _, known := v.sequences[bucket]; !known {
		bucket, _ = nearest(bucket)
	}
	if err := v.check(bucket, kv); err != nil {
		v.fault(fmt.Errorf("%s %x: %w", bucket, kv.key[:min(len(kv.key), 40)], err))
		return
	}
	v.counts[bucket]++
	if v.keep != nil {
		v.keep(bucket, kv)
	}
}

// maxNumber is beyond every number of a report: so many are never made.
const maxNumber = 1 << 62

// valueNames are the buckets whose values checkValue knows.
var valueNames = map[string]string{
	"reports": "report", "tallies": "tally", "opinions": "opinion", "reporters": "reporter", "due": "decision",
}

// keySizes are the lengths of keys that are numbers.
var keySizes = map[string]int{"reports": 8, "due": 8, "tallies": 12, "by": 12, "opinions": 16, "names": 4}

func (v *inventory) check(bucket string, kv keyValue) error {
	if size, fixed := keySizes[bucket]; fixed && len(kv.key) != size {
		return fmt.Errorf("%w: key of %d bytes", ErrDamaged, len(kv.key))
	}
	switch bucket {
	case "reports", "due":
		n := binary.BigEndian.Uint64(kv.key)
		if n > maxNumber {
			return fmt.Errorf("%w: number", ErrDamaged)
		}
		v.largest[bucket] = max(v.largest[bucket], n)
	case "reporters":
		if len(kv.value) >= 4 {
			v.largest[bucket] = max(v.largest[bucket], uint64(binary.BigEndian.Uint32(kv.value)))
		}
	case "meta":
		return v.checkMeta(kv)
	}
	if name, ok := valueNames[bucket]; ok {
		return checkValue(name, kv.key, kv.value)
	}
	return nil
}

func (v *inventory) checkMeta(kv keyValue) error {
	switch key := string(kv.key); {
	case checkMeta(kv) != nil:
	case key == string(keyVersion):
		v.version = slices.Clone(kv.value)
	case key == string(countReports), key == string(countReporters):
		v.claimed[key] = max(v.claimed[key], int64(binary.BigEndian.Uint64(kv.value)))
	}
	return checkMeta(kv)
}

// compare holds counts and numbers against what was counted: a number that was given
// twice would overwrite a report.
func (v *inventory) compare() {
	names := slices.Sorted(maps.Keys(v.sequences))
	if len(names) == 0 {
		return // a new file
	}
	for _, name := range buckets {
		switch {
		case slices.Contains(names, string(name)):
		case string(name) == string(bucketMeta):
			v.fault(fmt.Errorf("%w: it has a bucket %.40q and none %q", ErrDamaged, names[0], name))
			return
		default:
			v.fault(fmt.Errorf("%w: it has no bucket %q", ErrDamaged, name))
		}
	}
	for claim, bucket := range map[string]string{string(countReports): "reports", string(countReporters): "reporters"} {
		if v.claimed[claim] != v.counts[bucket] {
			v.fault(fmt.Errorf("%w: it says %d %s and has %d", ErrDamaged, v.claimed[claim], bucket, v.counts[bucket]))
		}
	}
	for bucket, largest := range v.largest {
		if n := v.sequences[bucket]; n < largest || n > maxNumber || bucket == "reporters" && n > math.MaxUint32 {
			v.fault(fmt.Errorf("%w: %s are numbered up to %d, and %d is the next", ErrDamaged, bucket, largest, n))
		}
	}
}
