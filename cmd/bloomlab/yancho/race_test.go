//go:build race

package yancho

// racing says that the race detector makes every access some fifty times as dear.
const racing = true
