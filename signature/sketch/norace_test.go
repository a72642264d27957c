//go:build !race

package sketch_test

// scale divides the sizes of tests.
const scale = 1
