//go:build !race

package yancho

const racing = false
