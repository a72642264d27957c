// Package sketch looks up near-duplicates: it turns the sketches of a message into entries
// of the sketch filter, and finds the groups of which one site has stored enough.
//
//	report  Index.Reported -> SketchRecords -> journal, sketch filter
//	mail    Index.Asked -> NewQuery -> Overlaps -> Best
//
// It does not decide whether a match lists a message, and has no locks.
package sketch
