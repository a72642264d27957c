package pagefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// meta is one of the two headers.
type meta struct {
	page     uint64 // bytes of a page
	root     uint64
	freelist uint64
	pages    uint64 // in the file
	txid     uint64
}

var errSizes = fmt.Errorf("%w: a header names a wrong size of pages", record.ErrDamaged)

// CheckSizes checks the size of the pages in both headers, before the library maps the file.
// It knows the other faults of headers itself.
func CheckSizes(file io.ReaderAt) error {
	if _, _, err := (&reader{file: file}).header(); errors.Is(err, errSizes) {
		return err
	}
	return nil
}

// maxPage is the largest page for which the library looks for the second header.
const maxPage = 16 << 20

// header reads both headers and returns the newer one, as the library does. spare reports
// whether both are sound. The library believes a whole header whatever size of a page it
// names, and would read other pages than those that are checked here.
func (r *reader) header() (m meta, spare bool, err error) {
	first, isFirst := r.metaAt(0)
	size := first.page
	for at := uint64(1 << 10); !isFirst && size == 0 && at <= maxPage; at <<= 1 {
		if n, ok := r.metaAt(int64(at)); ok {
			size = n.page
		}
	}
	second, isSecond := r.metaAt(int64(size))
	switch {
	case !isFirst && !isSecond && r.otherFormat():
		return m, false, fmt.Errorf("%w of bbolt, whose format %d is known", record.ErrVersion, boltVersion)
	case !isFirst && !isSecond:
		return m, false, fmt.Errorf("%w: neither header is right", record.ErrDamaged)
	case size < 1<<10 || size > 1<<16 || size&(size-1) != 0 || isSecond && second.page != size:
		return m, false, errSizes
	case !isFirst || isSecond && second.txid > first.txid:
		return second, isFirst, nil
	}
	return first, isSecond, nil
}

func (r *reader) metaAt(at int64) (m meta, ok bool) {
	d, ok := r.metaBytes(at)
	if !ok {
		return m, false
	}
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	m = meta{page: uint64(u32(d[8:])), root: u64(d[16:]), freelist: u64(d[32:]), pages: u64(d[40:]), txid: u64(d[48:])}
	if u32(d[4:]) != boltVersion {
		return meta{}, false
	}
	return m, true
}

// metaBytes reads a header of any format, and reports whether its checksum is right.
func (r *reader) metaBytes(at int64) (d []byte, ok bool) {
	b := make([]byte, pageHeader+metaSize)
	if _, err := r.file.ReadAt(b, at); err != nil {
		return nil, false
	}
	d = b[pageHeader:]
	return d, binary.NativeEndian.Uint32(d) == boltMagic && binary.NativeEndian.Uint64(d[56:]) == sumOf(d[:metaSize-8])
}

// sumOf returns the checksum of a header.
func sumOf(b []byte) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write(b)
	return sum.Sum64()
}

// otherFormat reports whether the first header is whole and has an unknown format.
func (r *reader) otherFormat() bool {
	d, ok := r.metaBytes(0)
	return ok && binary.NativeEndian.Uint32(d[4:]) != boltVersion
}
