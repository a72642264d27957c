package ledger

import (
	"encoding/binary"
	"hash/fnv"
	"testing"
)

// The layout of bbolt's pages (go.etcd.io/bbolt/internal/common, version 2), limited to the
// fields that tests damage.
const (
	headBytes    = 16 // of a page
	elementBytes = 16 // of a leaf or a branch
	metaBytes    = 64 // of a header, behind its page's head
	branchPage   = 0x01
	bucketEntry  = 0x01
)

// head is a header of a file.
type head struct{ page, root, freelist, pages, txid uint64 }

// headOf reads the newer one of the two headers.
func headOf(t *testing.T, data []byte) (newer head) {
	t.Helper()
	u64 := binary.NativeEndian.Uint64
	first := uint64(binary.NativeEndian.Uint32(data[headBytes+8:])) // the size of a page
	for _, at := range []uint64{0, first} {
		d := data[at+headBytes:]
		h := head{page: first, root: u64(d[16:]), freelist: u64(d[32:]), pages: u64(d[40:]), txid: u64(d[48:])}
		if u64(d[56:]) != checksum(d[:metaBytes-8]) {
			t.Fatal("a header of the undamaged file has a wrong checksum")
		}
		if h.txid >= newer.txid {
			newer = h
		}
	}
	return newer
}

// checksum returns the checksum of a header.
func checksum(b []byte) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write(b)
	return sum.Sum64()
}

// withoutSpace returns a file without the 16 MiB that bbolt adds to it for later pages. A
// test that damages hundreds of copies would spend its time in copying them.
func withoutSpace(t *testing.T, data []byte) []byte {
	t.Helper()
	h := headOf(t, data)
	return data[:h.page*h.pages]
}
