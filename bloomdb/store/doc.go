// Package store is the filters under one federation key: this site's own, the parts of other
// sites, the joined bits of those that are trusted, masks of retouched signatures; in memory,
// and as snapshots on disk.
//
//	View         what readers see; a change of its structure makes a new one
//	Set, OwnBits, OwnCounts, PartFor, ApplyMasks   change filters
//	ReadSnapshot, OwnSnapshots, MaskSnapshots      files
//
// It does not write the journal, and does not decide what a listing means. Readers take no
// lock but that of a mask. RetouchMu serialises changes of masks and is taken before the
// journal's locks; viewMu serialises changes of the view; those of a mask and of measured
// are taken last.
package store
