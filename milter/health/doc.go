// Package health decides whether judging is suspended, by the outcomes of messages, and
// whether a server is at fault when messages pass unchecked.
//
// It owns the breaker and the counts of recent failures. It neither judges nor logs. Each
// method of Health holds its lock for a look into these.
package health
