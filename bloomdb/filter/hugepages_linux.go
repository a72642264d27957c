package filter

import "golang.org/x/sys/unix"

// wantHugePages is only advice: without them the filter is slower, not wrong.
func wantHugePages(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
