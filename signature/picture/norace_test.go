//go:build !race

package picture

const step = 1
