// Package papers has the filters that the papers describe and the program does not
// use, each in a file of its name. They take positions from any hash family:
//
//	Universal, Chunks, Positions -> positions -> Classic.Set / Classic.Has
//	                                          -> Counting.Add / Counting.Count, on Flat or Split cells
//	                                          -> Retouched.Clear / Retouched.Has
//	                                          -> CrossCheck.Add / CrossCheck.Query
//
// The filters that the program does use are in bloomdb/filter. So are the two of the
// papers that it takes as they are: the iterative and the generalized one.
//
// Terms: m bits or cells, n keys, k positions a key. Papers: Yan & Cho, "Enhancing
// Collaborative Spam Detection with Bloom Filters" (2006), for Counting with its
// heuristics H1 and H2, Split and Universal; the others are named where they are used.
package papers
