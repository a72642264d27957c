//go:build !linux

package testenv

// InMemory does nothing: no file system in memory is known.
func InMemory() {}
