// Package queue keeps reports and revocations on disk while the daemon is away. It
// owns one file of a user, its form (FORMAT.md), and who may touch it; it does not
// speak to the daemon, which is for the caller of Deliver.
//
//	Add -> record, fsync -> waits -> Deliver -> send -> settled: record of that -> gone
//	                          ^                  `----> later: stays, in its place
//	                          `-- kill -9, torn file, full disk: still there
//
// What Add has acknowledged is on disk. It is handed to send once or, where the
// program dies between the daemon's answer and the record of it, twice: a report
// that is made twice counts once. It is never handed over zero times.
//
// A queue belongs to one user of the system, and any number of processes of that user
// share it. The file is changed under one lock, which is held for some milliseconds;
// under another one a single process delivers, however long that takes, while others
// go on adding.
package queue
