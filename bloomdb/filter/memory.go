package filter

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// words is zeroed memory outside the Go heap, on huge pages if the kernel supports them. A
// lookup in a large filter is one cache miss, and 4-KiB pages make it half as slow again.
// Memory outside the heap does not raise the collector's goal either. A page takes memory
// only once it is written.
//
// The memory is freed when the words value is no longer reachable, so methods that read w
// must keep the value alive until they are done.
type words struct{ w []uint64 }

func newWords(n uint64) (*words, error) {
	if n == 0 || n > math.MaxInt/8 {
		return nil, fmt.Errorf("filter of %d words: size out of range", n)
	}
	mem, err := unix.Mmap(-1, 0, int(n*8), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("filter of %d bytes: mmap: %w", n*8, err)
	}
	wantHugePages(mem)
	v := &words{w: unsafe.Slice((*uint64)(unsafe.Pointer(&mem[0])), n)}
	runtime.AddCleanup(v, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
	return v, nil
}
