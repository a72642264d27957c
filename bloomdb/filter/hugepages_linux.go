package filter

import "golang.org/x/sys/unix"

// wantHugePages is only advice: without huge pages the filter is slower but correct.
func wantHugePages(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
