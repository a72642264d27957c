//go:build race

package federation

// racing says that the race detector makes every access some fifty times as dear.
const racing = true
