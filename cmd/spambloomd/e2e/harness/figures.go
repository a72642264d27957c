//go:build figures

package harness

// Figures is true in a measuring run (tag figures): the programs are built as for
// production, without the race detector.
const Figures = true
