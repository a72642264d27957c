//go:build !race

package signature

// scale divides the sizes of hostile messages.
const scale = 1
