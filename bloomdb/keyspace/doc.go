// Package keyspace holds everything of this site under one federation key: filters, journal,
// never-list, votes, outbox, the state of other sites, and the folder with all of it.
// Positions in filters are hashes under the key: no keyspace uses another one.
//
//	New -> Load (identity, snapshots, masks, lists, journal) -> Tick, once a second -> Close
//	PrepareReport, PrepareRetouch, PrepareNever -> Update: write, then show
//	Save   snapshots of all changes; then the journal before them is dropped
//
// It decides no verdict: package judging does, from the facts of one or two keyspaces.
// Locks: never.Changing, store.RetouchMu, SnapshotMu, those of peers, votes, outbox and
// journal, in this order.
package keyspace
