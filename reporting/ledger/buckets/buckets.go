// Package buckets names the buckets of the ledger's file and their keys, and decides which
// bucket a record fits. Reading a damaged file needs the latter: a page does not name its
// bucket. The package owns no file and no locks.
package buckets

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// The buckets. FORMAT.md, in the folder above, describes their contents.
var (
	Meta      = []byte("meta")
	Reports   = []byte("reports")   // number -> report
	By        = []byte("by")        // reporter, number -> nothing
	Tallies   = []byte("tallies")   // key -> tally
	Opinions  = []byte("opinions")  // key, reporter -> opinion: those beyond the first ones of a tally
	Reporters = []byte("reporters") // name -> reporter
	Names     = []byte("names")     // reporter -> name
	Due       = []byte("due")       // number -> decision that is not settled
	Shares    = []byte("shares")    // party -> share
	Acts      = []byte("actions")   // number -> action

	All = [][]byte{Meta, Reports, By, Tallies, Opinions, Reporters, Names, Due, Shares, Acts}
)

// The keys of Meta.
var (
	KeyVersion = []byte("version")
	KeySweep   = []byte("sweep") // the name at which the next look for faded reporters begins

	CountReports   = []byte("count of reports")
	CountReporters = []byte("count of reporters")
)

// Number is a number as a key. It is big-endian, so that keys are in order.
type Number [8]byte

// NewNumber returns the key of a number.
func NewNumber(n uint64) (b Number) {
	binary.BigEndian.PutUint64(b[:], n)
	return b
}

// Value returns the number of a key.
func (n Number) Value() uint64 { return binary.BigEndian.Uint64(n[:]) }

// ByKey returns the key of a report in By.
func ByKey(reporter uint32, n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, reporter), n)
}

// Count reads a count from Meta.
func Count(meta *bolt.Bucket, of []byte) int64 {
	if b := meta.Get(of); len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Version is the version of the buckets and their records.
const Version = 1

// VersionValue returns a version as it is in the file: with its complement, because nothing
// else shows that a bit of it has flipped.
func VersionValue(v byte) []byte { return []byte{v, ^v} }

// CheckVersion returns an error that wraps record.ErrVersion for a newer version, and
// record.ErrDamaged for a value that is no version.
func CheckVersion(value []byte) error {
	switch {
	case len(value) != 2 || value[1] != ^value[0] || value[0] < Version:
		return fmt.Errorf("%w: version %v", record.ErrDamaged, value)
	case value[0] > Version:
		return fmt.Errorf("newer format (version %d; this program reads %d), %w of spambloom", value[0], Version, record.ErrVersion)
	}
	return nil
}
