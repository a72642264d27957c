// Package store holds the filters under one federation key: this site's own, the parts of other
// sites, the joined bits of those that are trusted, and the masks of retouched signatures. It
// holds them in memory, and loads them from snapshots.
//
//	View         what readers see; a change of its structure makes a new one
//	Set, OwnBits, OwnCounts, PartFor, ApplyMasks   change filters
//	OwnLoader, SiteLoader, OwnSnapshots, MaskSnapshots   files
//
// It does not write the journal, and does not interpret listings. Readers take no lock except
// a mask's. RetouchMu serialises changes of masks and is taken before the journal's locks.
// viewMu serialises changes of the view. The locks of a mask and of measurements are taken last.
package store
