// Package filter contains the program's filters as plain data structures: the Bloom filter
// in its blocked one- and two-line layouts (Bits) and the refined counting filter in its
// split store (Counts), with the keyed hashes and the blocks that all filters share. It has
// no notion of time, sites, files or the network; bloomdb gives the filters their meaning.
//
//	Hash (keyed, four 64-bit lanes) -> positions -> Bits.Set / Bits.Has
//	                                             -> Counts.Add / Counts.Count
//	block -> AppendRaw -> ... -> RawCells -> OrRaw / RaiseRaw
//
// Filters join: bits by OR, cells by maximum. A join is idempotent and commutative, so a
// delta that arrives twice, late or out of order does no harm.
//
// A filter lives in memory outside the Go heap until it is unreachable. All methods may run
// at the same time. Lookups take no lock, and Bits has none at all. Writing or copying cells
// of Counts locks one of 1,024 stripes; the totals lock each of them in turn, never two.
// FORMAT.md describes positions and raw blocks.
//
// The packages in the folders of this one import it, and none imports another of them:
//
//   - coded has the cells of a filter in coded form: blocks, deltas, and the filters of
//     other sites (coded.Part).
//   - generalized and iterative have a filter of a paper each, used unchanged and never
//     joined.
//
// The other filters of the papers belong to the laboratory, in cmd/bloomlab/papers.
//
// Terms: m bits or cells, n keys, k positions a key; a line is 64 bytes, one cache line.
// Papers: Yan & Cho, "Enhancing Collaborative Spam Detection with Bloom Filters" (2006),
// for the counting heuristics H1 and H2 and the split store; Putze, Sanders, Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters" (2007), for blocking.
package filter
