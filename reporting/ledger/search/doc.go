// Package search finds reports in a ledger: by message, reporter or time; contested messages;
// revocations that wait; and what is listed or revoked. It changes nothing.
//
// It owns the public form of a report. Each call is a transaction of its own, which does not
// wait for changes, nor they for it.
package search
