// Package iterative contains the Iterative Bloom filter, which counts keys in the bits that
// also say whether they are present. What is counted, and for how long, is for the caller to
// decide.
//
//	filter.Hash.Sequence -> endless positions -> Filter.Add / Filter.Estimate
//
// A Filter has no locks: one goroutine at a time may use it. It is filled up to its limit,
// then emptied by Reset. It is never joined with another, and never written to a file.
package iterative
