//go:build race

package sketch_test

// scale divides the sizes of tests. The race detector makes each byte some ten times as
// expensive, and size adds no races.
const scale = 8
