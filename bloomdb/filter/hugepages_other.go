//go:build !linux

package filter

// wantHugePages does nothing: other systems decide by themselves.
func wantHugePages([]byte) {}
