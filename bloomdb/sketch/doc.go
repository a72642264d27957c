// Package sketch looks up near-duplicates. It converts the sketches of a message to entries of
// the sketch filter, and finds the groups of which one site has stored enough.
//
//	report  Index.Reported -> Records -> journal, sketch filter
//	mail    Index.Asked -> NewQuery -> Overlaps -> Best
//
// It does not decide whether a match lists a message, and has no locks.
package sketch
