//go:build race

package signature_test

// scale divides the sizes of hostile messages. The race detector makes each byte some ten
// times as expensive, and size adds no races.
const scale = 8
