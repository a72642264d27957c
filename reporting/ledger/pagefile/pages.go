// Package pagefile reads the pages of a bbolt file of the ledger by itself, and believes no
// number in it.
//
// bbolt maps its file and follows the numbers in it. A flipped bit in one can end the
// process, or make a later transaction overwrite pages in use. So Read reads every page
// first, in the form of go.etcd.io/bbolt/internal/common (version 2): each page is reached
// once, lies within the file, and its elements lie within it. With Lenient it goes on after
// a fault, to read what can be read.
//
// # Pages that nothing leads to
//
// If a branch page or the list of buckets is lost, nothing leads to the leaves below it.
// With Orphans, Read looks at every page of the file for leaves. A leaf does not name its
// bucket: its records do, by the lengths of their keys and by their values (package
// buckets).
//
// With the list of free pages, the leaves of the last transaction can be told from those of
// earlier ones. Earlier ones are used only for a bucket of which nothing else was found:
// small buckets are inside the list of buckets, and without the list of free pages this is
// every bucket. Tallies and decisions of earlier transactions are not used: tallies are
// recounted. A record that was deleted recently may come back.
//
// A damaged page number may lead to a page of another bucket, or to a free one. So a leaf
// counts as reached only if its records fit the bucket that leads to it best. Otherwise its
// own bucket would lose it, and all leaves beside it. A leaf that is both free and in use
// may have either age.
package pagefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

const (
	pageHeader   = 16
	leafElement  = 16 // also that of a branch
	bucketHeader = 16
	metaSize     = 64

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	leafBucket   = 0x01

	boltMagic   = 0xED0CDAED
	boltVersion = 2
	noFreelist  = ^uint64(0)

	maxDepth     = 64
	maxPageBytes = 64 << 20 // of one page with its overflow; every value is far smaller

	pieceAhead = 1 << 20 // see readAhead
)

// keyRange is the range of the keys below an element of a branch: from its own key
// (inclusive) to that of the next. The library looks for a key nowhere else. A nil end is
// open.
type keyRange struct{ from, until []byte }

// Reader receives what Read finds. Fault, Take and Bucket are required.
type Reader struct {
	Fault  func(error) (goOn bool)
	Take   func(bucket string, kv buckets.Pair)
	Bucket func(name string, sequence uint64)

	// Orphans gets the records of leaves that nothing leads to; nil: these are not read.
	Orphans func(records []buckets.Pair, age Age)

	Lenient bool   // read past faults, as far as possible
	Only    string // the bucket to read; "": the whole file
}

// reader reads the pages of one file.
type reader struct {
	Reader
	file    io.ReaderAt
	size    int64
	meta    meta
	reached []bool
	stopped bool
	failed  bool

	// With Lenient; see rescue.go.
	freed  []bool          // pages in the list of free ones; nil if the list is not believed
	doubts map[uint64]bool // pages that are both free and in use
	strays map[uint64]int  // leaves, and how often another bucket than their own led to them
}

// ErrNoFile is the error for a folder, a pipe or a device in place of the file.
var ErrNoFile = fmt.Errorf("%w: it is no regular file", record.ErrDamaged)

// Read reads a whole file, or one bucket. spare reports whether both headers are sound. Without a sound
// header it returns an error, unless Orphans is set.
func Read(path string, to Reader) (spare bool, err error) {
	r := &reader{Reader: to}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if err != nil || !info.Mode().IsRegular() { // a link in a circle; opening a pipe would wait for a writer
		r.Fault(ErrNoFile)
		return false, r.unless(ErrNoFile)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", record.ErrDamaged, err)
		r.Fault(err)
		return false, r.unless(err)
	}
	defer f.Close()
	r.file, r.size = f, info.Size()
	if r.meta, spare, err = r.header(); errors.Is(err, record.ErrVersion) || err != nil && r.Orphans == nil {
		return false, err
	}
	if err != nil {
		r.Fault(err)
		r.meta = r.guess()
		r.rescue(nil, unknownAge)
		return false, nil
	}
	if r.meta.pages > uint64(r.size)/r.meta.page {
		r.fail("cut short, %d bytes of %d", r.size, r.meta.pages*r.meta.page)
		r.meta.pages = uint64(r.size / int64(r.meta.page))
	}
	r.reached = make([]bool, r.meta.pages)
	if r.Only == "" {
		readAhead(f, int64(r.meta.pages*r.meta.page)) // behind these, the file may be of any length
	}
	if r.Only != "" {
		r.tree(r.meta.root, "", 0, keyRange{})
		return spare, nil
	}
	free, known := r.free()
	if r.Lenient && known {
		r.believe(free)
	}
	r.failed = false
	r.tree(r.meta.root, "", 0, keyRange{})
	broken, used := r.failed, slices.Clone(r.reached)
	if known {
		r.account(free)
	}
	if r.Orphans != nil {
		r.rescueAll(used, broken)
	}
	return spare, nil
}

// readAhead reads a file from its beginning to its end and keeps nothing of it: the pages are in the
// system's memory then. The tree leads to them in the order of their keys, so that each page of a
// file that is not in memory would be one access of the disk: minutes for 100 MB on a hard disk. After
// an error it stops: the page that the disk cannot read is named by the caller, if it is in use.
func readAhead(file io.ReaderAt, size int64) {
	piece := make([]byte, min(size, pieceAhead))
	for at := int64(0); at < size; at += pieceAhead {
		if _, err := file.ReadAt(piece, at); err != nil {
			return
		}
	}
}

// unless returns err unless Orphans is set.
func (r *reader) unless(err error) error {
	if r.Orphans != nil {
		return nil
	}
	return err
}

// fail reports a fault.
func (r *reader) fail(format string, args ...any) {
	r.failed = true
	if !r.stopped && !r.Fault(fmt.Errorf("%w: "+format, append([]any{record.ErrDamaged}, args...)...)) {
		r.stopped = true
	}
}

// page reads a page with its overflow, once.
func (r *reader) page(id uint64) (b []byte, ok bool) {
	if id < 2 || id >= r.meta.pages {
		r.fail("page %d of %d", id, r.meta.pages)
		return nil, false
	}
	b = make([]byte, r.meta.page)
	if _, err := r.file.ReadAt(b, int64(id*r.meta.page)); err != nil {
		r.fail("page %d: %v", id, err)
		return nil, false
	}
	if own := binary.NativeEndian.Uint64(b); own != id {
		r.fail("page %d calls itself %d", id, own)
		if !r.Lenient {
			return nil, false
		}
	}
	over := uint64(binary.NativeEndian.Uint32(b[12:]))
	if over >= r.meta.pages-id || (over+1)*r.meta.page > maxPageBytes {
		r.fail("page %d has %d more behind it", id, over)
		over = 0
	}
	if !r.reach(id, over) {
		return nil, false
	}
	if over == 0 {
		return b, true
	}
	b = make([]byte, (over+1)*r.meta.page)
	if _, err := r.file.ReadAt(b, int64(id*r.meta.page)); err != nil {
		r.fail("page %d: %v", id, err)
		return nil, false
	}
	return b, true
}

// reach marks a page and its overflow as in use. It returns false if they are already.
func (r *reader) reach(id, over uint64) bool {
	if r.Lenient {
		over = 0 // it may be damaged: do not lose other pages for it
	}
	for i := range over + 1 {
		if r.reached[id+i] {
			r.fail("page %d is used twice", id+i)
			return false
		}
		r.reached[id+i] = true
	}
	return true
}

// tree reads a page of a bucket and those below it. The list of buckets has the name "".
func (r *reader) tree(id uint64, bucket string, depth int, span keyRange) {
	if r.stopped || depth > maxDepth {
		r.fail("page %d: %d levels deep", id, depth)
		return
	}
	if r.strays[id] > len(buckets.All) {
		r.fail("page %d is of no bucket that leads to it", id)
		return
	}
	b, ok := r.page(id)
	if !ok {
		return
	}
	flags := binary.NativeEndian.Uint16(b[8:])
	if flags != flagLeaf && flags != flagBranch {
		r.fail("page %d: flags %#x", id, flags)
		flags = likelyFlags(b)
	}
	switch {
	case flags == flagBranch:
		r.branch(b, id, bucket, depth, span)
	case r.freed != nil && r.freed[id]:
		r.doubt(id)
	default:
		r.leaf(b, id, bucket, span)
	}
}

// likelyFlags returns the probable flags of a page with damaged ones, by its first element:
// in a leaf its flags are 0 or 1.
func likelyFlags(b []byte) uint16 {
	if binary.NativeEndian.Uint32(b[pageHeader:]) <= leafBucket {
		return flagLeaf
	}
	return flagBranch
}

func (r *reader) branch(b []byte, id uint64, bucket string, depth int, span keyRange) {
	n := r.count(b, id, 0)
	if n == 0 {
		r.fail("page %d: a branch without elements", id)
	}
	keys := make([][]byte, n, n+1) // nil where one cannot be read
	for i := range n {
		at := pageHeader + i*leafElement
		key, ok := within(b, at, binary.NativeEndian.Uint32(b[at:]), binary.NativeEndian.Uint32(b[at+4:]))
		if !ok || i > 0 && bytes.Compare(keys[i-1], key) >= 0 {
			r.fail("page %d: key of element %d", id, i)
		}
		if ok {
			keys[i] = key
		}
	}
	r.checkRange(span, keys[:n], id)
	keys = append(keys, span.until)
	for i := range n {
		child := binary.NativeEndian.Uint64(b[pageHeader+i*leafElement+8:])
		r.tree(child, bucket, depth+1, keyRange{keys[i], keys[i+1]})
	}
}

// checkRange notes a fault where keys in ascending order are not in the range of their page.
func (r *reader) checkRange(span keyRange, keys [][]byte, id uint64) {
	if len(keys) == 0 {
		return
	}
	first, last := keys[0], keys[len(keys)-1]
	if bytes.Compare(first, span.from) < 0 || span.until != nil && bytes.Compare(last, span.until) >= 0 {
		r.fail("page %d: its keys are not those that its branch leads to", id)
	}
}

// leaf reads a leaf: a page, or with id 0 one inside a bucket's entry in the list.
func (r *reader) leaf(b []byte, id uint64, bucket string, span keyRange) {
	records := r.records(b, id, bucket)
	keys := make([][]byte, len(records))
	for i, kv := range records {
		keys[i] = kv.Key
	}
	r.checkRange(span, keys, id)
	if r.Lenient && isStray(b, bucket, records) {
		r.stray(id, bucket, records)
		return
	}
	for _, kv := range records {
		if bucket != "" {
			r.Take(bucket, kv)
		} else {
			r.readBucket(string(kv.Key), kv.Value)
		}
	}
}

// element returns element i of a leaf. It is whole if it lies within the leaf.
func element(b []byte, i int) (flags uint32, key, value []byte, isWhole bool) {
	at := pageHeader + i*leafElement
	e := b[at:]
	pos, size := binary.NativeEndian.Uint32(e[4:]), binary.NativeEndian.Uint32(e[8:])
	key, hasKey := within(b, at, pos, size)
	value, hasValue := within(b, at, pos+size, binary.NativeEndian.Uint32(e[12:]))
	return binary.NativeEndian.Uint32(e), key, value, hasKey && hasValue
}

// records returns the elements of a leaf that lie within it: the buckets in the list of
// buckets, and the keys and values in a bucket.
func (r *reader) records(b []byte, id uint64, bucket string) (records []buckets.Pair) {
	var before []byte
	for i := range r.count(b, id, 4) {
		flags, key, value, isWhole := element(b, i)
		if !isWhole || len(key) == 0 || flags > leafBucket || (flags == leafBucket) != (bucket == "") {
			r.fail("page %d: element %d", id, i)
			continue
		}
		if i > 0 && bytes.Compare(before, key) >= 0 {
			r.fail("page %d: key of element %d", id, i)
		}
		before = key
		records = append(records, buckets.Pair{Key: key, Value: value})
	}
	return records
}

// readBucket reads a bucket from its entry in the list: a header, and in a small bucket the
// page itself.
func (r *reader) readBucket(name string, value []byte) {
	if r.Only != "" && name != r.Only {
		return
	}
	if len(value) < bucketHeader {
		r.fail("bucket %.40q has no header", name)
		return
	}
	r.Bucket(name, binary.NativeEndian.Uint64(value[8:]))
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		r.tree(root, name, 1, keyRange{})
		return
	}
	inline := value[bucketHeader:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != flagLeaf {
		r.fail("bucket %.40q has no page", name)
		return
	}
	r.leaf(inline, 0, name, keyRange{})
}

// count returns the number of a page's elements, at most as many as there is room for. The
// first key follows the last element; at is the place of its distance in the first element.
func (r *reader) count(b []byte, id uint64, at int) int {
	n := int(binary.NativeEndian.Uint16(b[10:]))
	if n > 0 || r.Lenient && len(b) >= pageHeader+leafElement {
		first := int(binary.NativeEndian.Uint32(b[min(pageHeader+at, len(b)-4):]))
		if n > 0 && first != n*leafElement || n == 0 && first > 0 && first%leafElement == 0 {
			r.fail("page %d: %d elements, and the first key at %d", id, n, first)
			if first%leafElement == 0 {
				n = max(n, first/leafElement)
			}
		}
	}
	if room := (len(b) - pageHeader) / leafElement; n > room {
		r.fail("page %d: %d elements", id, n)
		return room
	}
	return n
}

// within returns a part of a page, at a distance from one of its elements.
func within(b []byte, at int, pos, size uint32) ([]byte, bool) {
	from := uint64(at) + uint64(pos)
	if end := from + uint64(size); end > uint64(len(b)) || from < pageHeader {
		return nil, false
	}
	return b[from : from+uint64(size)], true
}

// free reads the list of free pages, and reports whether it could be read.
func (r *reader) free() (ids []uint64, ok bool) {
	if r.stopped || r.meta.freelist == noFreelist {
		return nil, false
	}
	b, ok := r.page(r.meta.freelist)
	if !ok {
		return nil, false
	}
	if flags := binary.NativeEndian.Uint16(b[8:]); flags != flagFreelist {
		r.fail("list of free pages: flags %#x", flags)
		return nil, false
	}
	n, at := uint64(binary.NativeEndian.Uint16(b[10:])), pageHeader
	if n == 0xffff {
		n, at = binary.NativeEndian.Uint64(b[pageHeader:]), pageHeader+8
	}
	if n > uint64(len(b)-at)/8 {
		r.fail("list of %d free pages", n)
		return nil, false
	}
	for i := range n {
		ids = append(ids, binary.NativeEndian.Uint64(b[at+int(i)*8:]))
	}
	return ids, true
}

// account compares the list of free pages with the pages in use. Each page must be either
// in use or free. A page that is both would be overwritten.
func (r *reader) account(free []uint64) {
	for _, id := range free {
		if id < 2 || id >= r.meta.pages || r.reached[id] {
			r.fail("page %d is free and in use, or not in the file", id)
			r.note(id)
			continue
		}
		r.reached[id] = !r.doubts[id]
	}
	for id := 2; id < len(r.reached); id++ {
		if !r.reached[id] {
			r.fail("page %d is neither in use nor free", id)
		}
	}
}
