package buckets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// Pair is a key of a bucket with its value.
type Pair struct{ Key, Value []byte }

// Nearest returns the bucket whose name differs from name in one byte at most. A name in
// the file may be damaged.
func Nearest(name string) (string, bool) {
	for _, known := range All {
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

// MaxNumber is above every number of a report.
const MaxNumber = 1 << 62

// ValueNames are the names of values for CheckValue, by bucket.
var ValueNames = map[string]string{
	"reports": "report", "tallies": "tally", "opinions": "opinion", "reporters": "reporter", "due": "decision", "actions": "action", "shares": "share",
}

// KeySizes are the lengths of keys that are numbers, by bucket.
var KeySizes = map[string]int{"reports": 8, "due": 8, "actions": 8, "tallies": 12, "by": 12, "opinions": 16, "names": 4}

// CheckValue decodes one value. It accepts values of an unknown name.
func CheckValue(name string, key, data []byte) (err error) {
	switch name {
	case "report":
		_, err = record.DecodeReport(data)
	case "tally":
		_, err = record.DecodeTally(data)
	case "opinion":
		_, err = record.DecodeOpinion(0, data)
	case "reporter":
		_, err = record.DecodeReporter(string(key), data)
	case "decision":
		_, err = record.DecodeDue(data)
	case "share":
		_, err = record.DecodeShare(data)
	case "action":
		_, err = record.DecodeAct(data)
	}
	return err
}

// CheckMeta checks a key of Meta and its value.
func CheckMeta(kv Pair) error {
	switch string(kv.Key) {
	case string(KeyVersion), string(KeySweep):
		return nil
	case string(CountReports), string(CountReporters):
		if len(kv.Value) != 8 {
			return fmt.Errorf("%w: %d bytes", record.ErrDamaged, len(kv.Value))
		}
		return nil
	}
	return fmt.Errorf("%w: unknown", record.ErrDamaged)
}

// candidates are the buckets that a leaf may belong to.
var candidates = []string{"reports", "tallies", "opinions", "reporters", "due", "shares", "actions", "imported", "meta", "by", "names"}

// Fits reports whether a record can be in a bucket, by the form of its key and value.
func Fits(bucket string, kv Pair) bool {
	if size, fixed := KeySizes[bucket]; fixed && len(kv.Key) != size {
		return false
	}
	switch bucket {
	case "shares":
		return bytes.IndexByte([]byte{record.PartyReporter, record.PartyWay, record.PartyOrigin}, kv.Key[0]) >= 0 && CheckValue("share", kv.Key, kv.Value) == nil
	case "imported":
		return len(kv.Value) == 8
	case "meta":
		return CheckMeta(kv) == nil
	case "by":
		return len(kv.Value) == 0
	case "names":
		return len(kv.Value) > 0
	case "reports", "due", "actions":
		return binary.BigEndian.Uint64(kv.Key) <= MaxNumber && CheckValue(ValueNames[bucket], kv.Key, kv.Value) == nil
	}
	return CheckValue(ValueNames[bucket], kv.Key, kv.Value) == nil
}

// Fitting returns the number of records that fit a bucket.
func Fitting(bucket string, records []Pair) (n int) {
	for _, kv := range records {
		if Fits(bucket, kv) {
			n++
		}
	}
	return n
}

// Of returns the bucket that most records of a leaf fit, or "" if no record fits any bucket.
func Of(records []Pair) (bucket string) {
	most := 0
	for _, name := range candidates {
		if n := Fitting(name, records); n > most {
			bucket, most = name, n
		}
	}
	return bucket
}

// IsLater reports whether a record is a later version than another one of the same key.
// Versions of tallies, opinions and decisions have no order, and actions never change.
func IsLater(bucket string, value, than []byte) bool {
	switch bucket {
	case "tallies", "opinions", "due", "actions":
		return false
	case "reports":
		a, errA := record.DecodeReport(value)
		b, errB := record.DecodeReport(than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		const later = record.FlagRenewed | record.FlagWithdrawn | record.FlagRefuted
		marks := func(r *record.Report) int { return bits.OnesCount8(uint8(r.Flags&later)) + int(min(r.Refuter, 1)) }
		return marks(a) > marks(b) || marks(a) == marks(b) && a.Credit > b.Credit
	case "reporters":
		a, errA := record.DecodeReporter("", value)
		b, errB := record.DecodeReporter("", than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		return a.Reports+a.Revocations > b.Reports+b.Revocations || a.Reports+a.Revocations == b.Reports+b.Revocations && a.Reputation.At.After(b.Reputation.At)
	case "shares":
		a, errA := record.DecodeShare(value)
		b, errB := record.DecodeShare(than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		return a.Period.After(b.Period) || a.Period.Equal(b.Period) && a.Used[record.Spam]+a.Used[record.Ham]+a.Kept > b.Used[record.Spam]+b.Used[record.Ham]+b.Kept
	}
	return len(value) > len(than) || len(value) == len(than) && bytes.Compare(value, than) > 0
}
