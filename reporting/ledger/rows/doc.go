// Package rows reads and writes the records of a ledger in one transaction: reports, tallies
// with their opinions, reporters, shares, decisions that are due, actions.
//
// It owns how a record is found, and what belongs together: an opinion and its tally, a
// reporter and the number. It decides nothing: package ledger does, and package search reads.
// A Txn is for one goroutine.
package rows
