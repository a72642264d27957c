//go:build race

package bloomdb

// Under the race detector each step is some ten times as dear. What runs in one
// goroutine has no races: fewer runs of a model, and each eighth byte of a file, are
// enough there.
const (
	modelRuns = "10"
	stride    = 8
)
