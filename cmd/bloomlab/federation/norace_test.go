//go:build !race

package federation

const racing = false
