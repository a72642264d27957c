//go:build !linux

package filter

// wantHugePages has nothing to ask for: other systems decide by themselves.
func wantHugePages([]byte) {}
