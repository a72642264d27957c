// Package coded contains the cells of filters in coded form: the codes of a block's cells
// for snapshots and of changed lines for deltas, and the compressed, mutable form of another
// site's filter (Part). FORMAT.md describes the codes. It does not own the files and records
// around them, their versions, or the raw blocks, which are those of package filter.
//
//	a block's cells -> AppendCells -> ... -> DecodeCells, or Part.Install
//	changed cells -> AppendLines, AppendCountLines -> ... -> DecodeLines, DecodeCountLines -> Part.Merge
//
// Decoders take bytes from anyone: the caller gives the bounds, and no length in the code
// is believed.
//
// A Part begins empty and grows with Install and Merge; nothing is ever removed from it. It
// has one lock, for its pages: a merge holds it while it codes one block, a lookup only
// while it finds a block, whose bytes never change, and Check until it is done.
package coded
