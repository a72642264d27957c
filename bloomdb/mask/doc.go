// Package mask hides the bits of retouched signatures in the spam filters of one generation
// (Donnet, Baynat, Friedman 2006).
//
// It owns which bits are hidden, the choice of a bit that costs other signatures least, and
// the file of a mask. It does not know filters of sites, and does not write the journal. The
// file belongs to the state folder, whose FORMAT.md describes it.
//
// Locks: that of a mask, which readers share. It is taken last.
package mask
