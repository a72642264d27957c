// Package wire encodes everything that goes through Redis: records with their heads,
// signatures and authentication codes, deltas, votes, manifests of snapshots and heartbeats.
// It also holds how much each other site is trusted (Members).
//
//	Sealer.EncodeRecord   head, body -> signature of the site -> HMAC under the federation key
//	Sealer.Open...        size -> version -> key -> HMAC -> signature of a member -> body
//
// Every length and number in a record is checked before it is used. The package does not
// apply records, and has no connection to Redis. It has no locks: a Sealer does not change.
package wire
