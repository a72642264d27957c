//go:build race

package picture

// step is which part of the variations and images is tried: the race detector makes a
// pixel some twenty times as dear, and this package starts no goroutine.
const step = 6
