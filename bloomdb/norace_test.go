//go:build !race

package bloomdb

const (
	modelRuns = "100" // of each rapid.Check, where -rapid.checks does not say
	stride    = 1     // from one damaged byte of a file to the next
)
