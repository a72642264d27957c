//go:build !race

package testenv

// Race reports whether the race detector is on: each access to memory takes some ten
// to fifty times as long. Tests that run in one goroutine repeat less then.
const Race = false
