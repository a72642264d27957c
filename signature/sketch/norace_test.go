//go:build !race

package sketch_test

// scale divides the sizes of hostile messages.
const scale = 1
