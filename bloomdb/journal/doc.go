// Package journal is the append-only log of this site's own changes, in segments, and the
// list of these segments.
//
//	Append -> Sync -> the caller changes its filters -> Done
//	Rotate    begins a segment, and waits until all earlier records are done
//	Drop      removes segments that are no longer needed, because snapshots contain them
//
// Records contain absolute values: replaying one twice changes nothing. The journal does not
// apply records and does not import filters. Locks: diskMu, held by who writes, is taken before mu,
// which no one holds while the disk is asked; the list's own lock is taken last.
package journal
