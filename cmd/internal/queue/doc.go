// Package queue keeps reports and revocations on disk while the daemon is unreachable. It
// owns one file of a user, its format (FORMAT.md), and the access to it. The caller of
// Deliver communicates with the daemon.
//
//	Add -> record, fsync -> waits -> Deliver -> send -> settled: recorded -> removed
//	                          ^                  `----> later: stays, in its place
//	                          `-- kill -9, torn file, full disk: still there
//
// An entry is on disk once Add has returned. It is passed to send once, or twice if the
// program dies between the daemon's answer and the record of it; a repeated report counts
// once. It is never lost.
//
// A queue belongs to one user of the system, and any number of that user's processes share
// it. They change the file under one lock, which is held for some milliseconds. A single
// process delivers under another lock, for any time, while others continue to add.
package queue
