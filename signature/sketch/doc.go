// Package sketch finds near-duplicates: it owns which features of a text or an image a
// report stores, which a check asks for, and how many of them a match needs.
//
// A report calls Reported and stores groups; a check calls Asked and compares; a record of
// a report keeps the Essence. All take a keyed function, which is secret. Sketches are
// values without locks. Package words makes the words of a text, package picture the codes
// of an image.
package sketch
