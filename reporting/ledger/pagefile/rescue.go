package pagefile

import (
	"encoding/binary"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
)

// maxSampled bounds the pages that guess reads for each size.
const maxSampled = 4096

// guess makes a header for a file that has lost both. The size of a page is that with which
// most pages have their own number.
func (r *reader) guess() meta {
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

// Age is the age of the transaction that wrote a leaf.
type Age int

const (
	Current    Age = iota // the last transaction
	Earlier               // an earlier transaction
	unknownAge            // either of them
)

// believe takes the list of free pages if it is in ascending order, as the library writes
// it. Otherwise the list is damaged.
func (r *reader) believe(free []uint64) {
	freed, before := make([]bool, r.meta.pages), uint64(1)
	for _, id := range free {
		if id <= before || id >= r.meta.pages {
			return
		}
		freed[id], before = true, id
	}
	r.freed = freed
}

// doubt leaves a leaf that is both free and in use to rescueAll.
func (r *reader) doubt(id uint64) {
	r.fail("page %d is free and in use", id)
	r.note(id)
	r.reached[id] = false
}

// note marks a page as both free and in use.
func (r *reader) note(id uint64) {
	if r.doubts == nil {
		r.doubts = map[uint64]bool{}
	}
	r.doubts[id] = true
}

// isStray reports whether a leaf belongs to another bucket than the one that leads to it.
func isStray(b []byte, bucket string, records []buckets.Pair) bool {
	if bucket == "" || len(records) == 0 {
		return len(records) == 0 && binary.NativeEndian.Uint16(b[10:]) > 0
	}
	known, ok := buckets.Nearest(bucket)
	if !ok {
		return true
	}
	own := buckets.Fitting(known, records)
	if own == len(records) {
		return false
	}
	other := buckets.Of(records)
	return other != "" && buckets.Fitting(other, records) > own
}

// stray leaves a leaf to its own bucket, or to rescueAll.
func (r *reader) stray(id uint64, bucket string, records []buckets.Pair) {
	r.fail("page %d is not of bucket %.40q, which leads to it", id, bucket)
	if id == 0 { // it is inside the list of buckets
		r.Orphans(records, Current)
		return
	}
	if r.strays == nil {
		r.strays = map[uint64]int{}
	}
	r.reached[id] = false
	r.strays[id]++
}

// rescueAll reads the leaves that nothing led to. A wrong page number may lead to another
// page of the same bucket. Then only the missing leaves show that the tree is broken.
func (r *reader) rescueAll(used []bool, broken bool) {
	if r.freed == nil {
		if broken {
			r.rescue(used, unknownAge)
		}
		return
	}
	age := Current
	if len(r.doubts) > 0 {
		age = unknownAge
	}
	if r.rescue(r.reached, age) > 0 || broken {
		r.rescue(used, Earlier)
	}
}

// rescue reads the leaves among all pages except the given ones, if any, and returns their number.
func (r *reader) rescue(but []bool, age Age) (leaves int) {
	page := make([]byte, r.meta.page)
	for id := uint64(2); id < r.meta.pages && !r.stopped; id++ {
		if but != nil && but[id] {
			continue
		}
		if _, err := r.file.ReadAt(page, int64(id*r.meta.page)); err != nil || !isLeaf(page, id) {
			continue
		}
		b := slices.Clone(page)
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

// isLeaf reports whether a page has its own number and the form of a leaf.
func isLeaf(b []byte, id uint64) bool {
	n := int(binary.NativeEndian.Uint16(b[10:]))
	return binary.NativeEndian.Uint64(b) == id && binary.NativeEndian.Uint16(b[8:]) == flagLeaf &&
		n > 0 && n <= (len(b)-pageHeader)/leafElement &&
		int(binary.NativeEndian.Uint32(b[pageHeader+4:])) == n*leafElement
}

// orphan passes the records of a leaf on. A list of buckets contains small ones whole.
func (r *reader) orphan(b []byte, age Age) {
	var records []buckets.Pair
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		flags, key, value, isWhole := element(b, i)
		switch {
		case !isWhole || len(key) == 0 || flags > leafBucket:
		case flags == 0:
			records = append(records, buckets.Pair{Key: key, Value: value})
		default:
			r.orphanBucket(string(key), value, age)
		}
	}
	r.Orphans(records, age)
}

func (r *reader) orphanBucket(name string, value []byte, age Age) {
	if len(value) < bucketHeader {
		return
	}
	r.Bucket(name, binary.NativeEndian.Uint64(value[8:]))
	if inline := value[bucketHeader:]; binary.NativeEndian.Uint64(value) == 0 && len(inline) >= pageHeader+leafElement && isLeaf(inline, 0) {
		r.orphan(inline, age)
	}
}
