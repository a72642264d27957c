// Package generalized contains the Generalized Bloom filter, which cannot be saturated, and
// its bytes (FORMAT.md). It carries the votes of sites; who may vote, and how votes are
// counted, is not decided here.
//
//	Shape.Positions -> Filter.Insert / Filter.Has
//
// A Filter has no locks. A writer must be alone; readers may run at the same time. It is
// never joined with another.
package generalized
