// Package journal is the append-only log of this site's own changes, in segments, and the
// list of these segments.
//
//	Append -> Sync -> the caller changes its filters -> Done
//	Rotate    begins a segment, and waits until all records before it are done
//	Drop      removes segments that snapshots have made superfluous
//
// Records contain absolute values: replaying one twice changes nothing. The journal does not
// apply records and does not know filters. Locks: syncMu is taken before mu; the list has
// one of its own, which is taken last.
package journal
