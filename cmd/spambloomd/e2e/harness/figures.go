//go:build figures

package harness

// Figures is true in a run that measures (tag figures): the programs are built as
// they are used, without the race detector.
const Figures = true
