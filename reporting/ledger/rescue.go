package ledger

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/bits"
)

// Where a branch page or the list of buckets is lost, nothing leads to the leaves below it.
// Repair then looks at every page of the file for leaves. A leaf does not name its bucket:
// its records do, by the lengths of their keys and by what their values decode to.
//
// With the list of free pages, the leaves of the last transaction are told from those that
// are left from earlier ones. The earlier ones are taken only for a bucket of which nothing
// else was found: the list of buckets has the small ones in it, and without the list of free
// pages it is all of them. Of two versions of a record the later one is taken (isLater).
// Tallies and decisions of earlier transactions are not taken: tallies are counted anew. A
// record that was deleted lately may come back.

// A damaged number of a page may lead to a page of another bucket, or to a free one. So a leaf
// counts as reached only if its records fit the bucket best that leads to it: or the bucket
// that it is of would lose it, and all leaves beside it. A leaf that is both free and in use
// may be of either age.

// maxSampled bounds the pages by which the size of a page is guessed.
const maxSampled = 4096

// guess is the header of a file whose headers are both lost. All pages may be leaves.
func (r *pageReader) guess() meta {
	best, most := uint64(4096), 0
	for size := uint64(1 << 10); size <= 1<<16; size <<= 1 {
		right := 0
		for id := uint64(2); id < maxSampled && (id+1)*size <= uint64(r.size); id++ {
			var b [pageHeader]byte
			if _, err := r.file.ReadAt(b[:], int64(id*size)); err == nil && binary.NativeEndian.Uint64(b[:]) == id {
				right++
			}
		}
		if right > most {
			best, most = size, right
		}
	}
	return meta{page: best, pages: uint64(r.size) / best, freelist: noFreelist}
}

// leafAge is what is known of the transaction that a leaf is of.
type leafAge int

const (
	current    leafAge = iota // the last one
	earlier                   // an earlier one
	unknownAge                // either
)

// believe notes the free pages. The library writes them in order: a list in another one is
// damaged, and what is in use is in use.
func (r *pageReader) believe(free []uint64) {
	freed, before := make([]bool, r.meta.pages), uint64(1)
	for _, id := range free {
		if id <= before || id >= r.meta.pages {
			return
		}
		freed[id], before = true, id
	}
	r.freed = freed
}

// doubt leaves a leaf that is both free and in use to rescue.
func (r *pageReader) doubt(id uint64) {
	r.fail("page %d is free and in use", id)
	r.note(id)
	r.reached[id] = false
}

// note notes a page that is both free and in use.
func (r *pageReader) note(id uint64) {
	if r.doubts == nil {
		r.doubts = map[uint64]bool{}
	}
	r.doubts[id] = true
}

// isStray reports whether a leaf is of another bucket than the one that leads to it.
func isStray(b []byte, bucket string, records []keyValue) bool {
	if bucket == "" || len(records) == 0 {
		return len(records) == 0 && binary.NativeEndian.Uint16(b[10:]) > 0
	}
	known, ok := nearest(bucket)
	if !ok {
		return true
	}
	own := fitting(known, records)
	if own == len(records) {
		return false
	}
	other := bucketOf(records)
	return other != "" && fitting(other, records) > own
}

// stray leaves a leaf to the bucket that it is of, or to rescue.
func (r *pageReader) stray(id uint64, bucket string, records []keyValue) {
	r.fail("page %d is not of bucket %.40q, which leads to it", id, bucket)
	if id == 0 { // it stands in the list of buckets
		r.orphans(records, current)
		return
	}
	if r.strays == nil {
		r.strays = map[uint64]int{}
	}
	r.reached[id] = false
	r.strays[id]++
}

// rescueAll reads the leaves that nothing led to. A number of a page that is wrong may lead
// to another page of the same bucket: then only the leaves that are missing show that the
// tree of pages is broken.
func (r *pageReader) rescueAll(used []bool, broken bool) {
	if r.freed == nil {
		if broken {
			r.rescue(used, unknownAge)
		}
		return
	}
	age := current
	if len(r.doubts) > 0 {
		age = unknownAge
	}
	if r.rescue(r.reached, age) > 0 || broken {
		r.rescue(used, earlier)
	}
}

// rescue reads the leaves among all pages but the given ones, and returns how many there are.
func (r *pageReader) rescue(but []bool, age leafAge) (leaves int) {
	for id := uint64(2); id < r.meta.pages && !r.stopped; id++ {
		if but[id] {
			continue
		}
		b := make([]byte, r.meta.page)
		if _, err := r.file.ReadAt(b, int64(id*r.meta.page)); err != nil || !isLeaf(b, id) {
			continue
		}
		over := uint64(binary.NativeEndian.Uint32(b[12:]))
		if size := (over + 1) * r.meta.page; over > 0 && over < r.meta.pages-id && size <= maxPageBytes {
			whole := make([]byte, size)
			if _, err := r.file.ReadAt(whole, int64(id*r.meta.page)); err == nil {
				b = whole
			}
		}
		r.orphan(b, age)
		leaves++
	}
	return leaves
}

// isLeaf reports whether a page calls itself by its number, and a leaf.
func isLeaf(b []byte, id uint64) bool {
	n := int(binary.NativeEndian.Uint16(b[10:]))
	return binary.NativeEndian.Uint64(b) == id && binary.NativeEndian.Uint16(b[8:]) == flagLeaf &&
		n > 0 && n <= (len(b)-pageHeader)/leafElement &&
		int(binary.NativeEndian.Uint32(b[pageHeader+4:])) == n*leafElement
}

// orphan hands the records of a leaf on. In a list of buckets, small ones stand whole.
func (r *pageReader) orphan(b []byte, age leafAge) {
	var records []keyValue
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		flags, key, value, isWhole := element(b, i)
		switch {
		case !isWhole || len(key) == 0 || flags > leafBucket:
		case flags == 0:
			records = append(records, keyValue{key, value})
		default:
			r.orphanBucket(string(key), value, age)
		}
	}
	r.orphans(records, age)
}

func (r *pageReader) orphanBucket(name string, value []byte, age leafAge) {
	if len(value) < bucketHeader {
		return
	}
	r.bucket(name, binary.NativeEndian.Uint64(value[8:]))
	if inline := value[bucketHeader:]; binary.NativeEndian.Uint64(value) == 0 && len(inline) >= pageHeader+leafElement && isLeaf(inline, 0) {
		r.orphan(inline, age)
	}
}

// holders are the buckets that a leaf may be of.
var holders = []string{"reports", "tallies", "opinions", "reporters", "due", "shares", "imported", "meta", "by", "names"}

// fits reports whether a record can be one of a bucket.
func fits(bucket string, kv keyValue) bool {
	if size, fixed := keySizes[bucket]; fixed && len(kv.key) != size {
		return false
	}
	switch bucket {
	case "shares":
		return (kv.key[0] == partyReporter || kv.key[0] == partyOrigin) && checkValue("share", kv.key, kv.value) == nil
	case "imported":
		return len(kv.value) == 8
	case "meta":
		return checkMeta(kv) == nil
	case "by":
		return len(kv.value) == 0
	case "names":
		return len(kv.value) > 0
	case "reports", "due":
		return binary.BigEndian.Uint64(kv.key) <= maxNumber && checkValue(valueNames[bucket], kv.key, kv.value) == nil
	}
	return checkValue(valueNames[bucket], kv.key, kv.value) == nil
}

// fitting is how many records fit a bucket.
func fitting(bucket string, records []keyValue) (n int) {
	for _, kv := range records {
		if fits(bucket, kv) {
			n++
		}
	}
	return n
}

// bucketOf is the bucket that most of a leaf's records fit; "" if none fits any.
func bucketOf(records []keyValue) (bucket string) {
	most := 0
	for _, name := range holders {
		if n := fitting(name, records); n > most {
			bucket, most = name, n
		}
	}
	return bucket
}

// orphans takes the records of a leaf that nothing led to.
func (c *copying) orphans(records []keyValue, age leafAge) {
	bucket := bucketOf(records)
	if age == earlier && c.found == nil {
		c.found = maps.Clone(c.counts)
	}
	switch {
	case bucket == "", age == earlier && c.found[bucket] > 0:
		return
	case age != current && (bucket == "tallies" || bucket == "opinions" || bucket == "due"):
		return
	}
	c.stale = c.stale || age != current && bucket == "reports"
	c.rescuing = true
	before := c.counts["reports"]
	for _, kv := range records {
		if fits(bucket, kv) {
			c.take(bucket, kv)
		}
	}
	c.rescued += c.counts["reports"] - before
	c.rescuing = false
}

// isLater reports whether a record is a later version than another one of the same key.
// Versions of tallies, opinions and decisions have no order: the one that was found first,
// in use, stands.
func isLater(bucket string, value, than []byte) bool {
	switch bucket {
	case "tallies", "opinions", "due":
		return false
	case "reports":
		a, errA := decodeReport(value)
		b, errB := decodeReport(than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		const later = flagRenewed | flagWithdrawn | flagRefuted
		marks := func(r *report) int { return bits.OnesCount8(uint8(r.flags & later)) }
		return marks(a) > marks(b) || marks(a) == marks(b) && a.credit > b.credit
	case "reporters":
		a, errA := decodeRow("", value)
		b, errB := decodeRow("", than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		return a.reports+a.revocations > b.reports+b.revocations || a.reports+a.revocations == b.reports+b.revocations && a.reputation.At.After(b.reputation.At)
	case "shares":
		a, errA := decodeShare(value)
		b, errB := decodeShare(than)
		if errA != nil || errB != nil {
			return errA == nil
		}
		return a.period.After(b.period) || a.period.Equal(b.period) && a.used[Spam]+a.used[Ham]+a.kept > b.used[Spam]+b.used[Ham]+b.kept
	}
	return len(value) > len(than) || len(value) == len(than) && bytes.Compare(value, than) > 0
}
