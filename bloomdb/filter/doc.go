// Package filter contains the program's filters as plain data structures: the Bloom filter
// in its blocked one- and two-line layouts (Bits), the refined counting filter in its split
// store (Counts), and the compressed, mutable form of another site's filter (Part). It has
// no notion of time, sites, files or the network; bloomdb gives the filters their meaning.
//
//	Hash (keyed, four 64-bit lanes) -> positions -> Bits.Set / Bits.Has
//	                                             -> Counts.Add / Counts.Count
//	changed cells -> AppendLines, AppendCountLines -> ... -> DecodeLines, DecodeCountLines -> Part.Merge
//	a block's cells -> AppendCells -> ... -> Part.Install
//
// Filters join: bits by OR, cells by maximum. A join is idempotent and commutative, so a
// delta that arrives twice, late or out of order does no harm.
//
// Two filters of the papers are used unchanged, and never joined:
//
//	GeneralizedShape.Positions -> Generalized.Insert / Generalized.Has
//	Hash.Sequence -> endless positions -> Iterative.Add / Iterative.Estimate
//
// The other filters of the papers belong to the laboratory, in cmd/bloomlab/papers.
//
// Terms: m bits or cells, n keys, k positions a key; a line is 64 bytes, one cache line.
// Papers: Yan & Cho, "Enhancing Collaborative Spam Detection with Bloom Filters" (2006),
// for the counting heuristics H1 and H2 and the split store; Putze, Sanders, Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters" (2007), for blocking.
package filter
