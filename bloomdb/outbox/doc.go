// Package outbox is what other sites have not been sent: changed cells until they are
// published as deltas, this site's snapshot, and the identity file, which records how far
// publishing has come.
//
//	Note -> pending -> ready -> NextDelta -> flight -> Published
//	NewSnapshot -> Next, Next, ... -> Manifest -> SnapshotPublished
//
// It does not send anything. Locks: deltaMu guards the identity and what is ready, and is
// taken before mu, which guards what is pending, and before the journal's locks.
package outbox
