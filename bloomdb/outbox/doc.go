// Package outbox publishes this site's changes. It holds changed cells until they are published
// as deltas, this site's snapshot, and the identity file, which records how far publishing has
// come.
//
//	Note -> pending -> ready -> NextDelta -> flight -> Published
//	NewSnapshot -> Next, Next, ... -> Manifest -> SnapshotPublished
//
// It does not send anything. Locks: deltaMu guards the identity and ready, and is taken before
// mu, which guards pending, and before the journal's locks.
package outbox
