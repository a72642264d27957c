// Package wire codes all that goes through Redis: records with their heads, signatures and
// authentication codes, deltas, votes, manifests of snapshots and heartbeats; and it holds
// how much each other site is trusted (Members).
//
//	Sealer.EncodeRecord   head, body -> signature of the site -> HMAC under the federation key
//	Sealer.Open...        size -> version -> key -> HMAC -> signature of a member -> body
//
// No length and no number of a record is believed before it is checked. It does not apply
// records, and does not speak to Redis. It has no locks: a Sealer does not change.
package wire
