// Package recent counts what this site saw in the last minutes, and remembers for some hours
// which messages were deferred: iterative Bloom filters in a ring, in memory only.
//
//	Counter   Add, Ask; a sub-window is emptied when its place in the ring comes again
//	Greylist  a Counter with a window of four hours, made when it is first needed
//
// Nothing of it is saved or published. One lock guards a ring, and is taken last.
package recent
