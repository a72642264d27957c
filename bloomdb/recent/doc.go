// Package recent counts what this site saw in the last minutes, and remembers for some hours
// which messages were deferred: iterative Bloom filters in a ring, in memory only.
//
//	Counter   Add, Ask; a filter is emptied when the ring reaches it again
//	Greylist  a Counter with a window of four hours, created when it is first needed
//
// Its content is neither saved nor published. One lock guards a ring, and is taken last.
package recent
