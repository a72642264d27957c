//go:build !race

package signature_test

// scale divides the sizes of hostile messages.
const scale = 1
