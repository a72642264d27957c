//go:build race

package signature_test

// scale divides the sizes of hostile messages: the race detector makes each byte
// some ten times as dear, and there is nothing in their size to race for.
const scale = 8
