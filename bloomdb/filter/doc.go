// Package filter holds the program's filters as plain data structures: the
// Bloom filter in its blocked one- and two-line layouts (Bits), the refined counting
// filter in its split store (Counts), and the compressed, mutable form in which
// another site's filter is held (Part). It knows neither time nor sites nor
// files nor the network; bloomdb gives them their meaning.
//
//	Hash (keyed, four 64-bit lanes) -> positions -> Bits.Set / Bits.Has
//	                                             -> Counts.Add / Counts.Count
//	changed cells -> AppendLines, AppendCountLines -> ... -> DecodeLines, DecodeCountLines -> Part.Merge
//	a block's cells -> AppendCells -> ... -> Part.Install
//
// These join: bits by OR, cells by maximum. A join is idempotent and
// commutative, so a delta that comes twice, late or out of order does no harm.
//
// The papers' own structures stand beside them, each in a file of its name, and
// take positions from any hash family:
//
//	Universal, Chunks, Hash.Positions -> positions -> Classic.Set / Classic.Has
//	                                               -> Counting.Add / Counting.Count, on Flat or Split cells
//	                                               -> Retouched.Clear / Retouched.Has
//	                                               -> CrossCheck.Add / CrossCheck.Query
//	                                               -> Generalized.Insert / Generalized.Has
//	Hash.Sequence -> positions without end -> Iterative.Add / Iterative.Estimate
//	reported and revoked -> Pair.Listed
//
// Generalized and Iterative filters are never joined.
//
// Terms: m bits or cells, n keys, k positions a key; a line is 64 bytes, one
// cache line. Papers: Yan & Cho, "Enhancing Collaborative Spam Detection with
// Bloom Filters" (2006), for the counting heuristics H1 and H2 and the split
// store; Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
// Filters" (2007), for blocking.
package filter
