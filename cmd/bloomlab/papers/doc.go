// Package papers has the filters of the papers that the program does not use, each in a
// file of that name. They accept positions from any hash family:
//
//	Universal, Chunks, Positions -> positions -> Classic.Set / Classic.Has
//	                                          -> Counting.Add / Counting.Count, on Flat or Split cells
//	                                          -> Retouched.Clear / Retouched.Has
//	                                          -> CrossCheck.Add / CrossCheck.Query
//
// The filters that the program uses are in and below bloomdb/filter, with the iterative and the
// generalized filter of the papers, which it uses unchanged.
//
// Terms: m bits or cells, n keys, k positions a key. Papers: Yan & Cho, "Enhancing
// Collaborative Spam Detection with Bloom Filters" (2006), for Counting with its
// heuristics H1 and H2, Split and Universal; the others are named where they are used.
package papers
