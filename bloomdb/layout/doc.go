// Package layout says which filters there are and how large they are: their kinds, the
// generations and their periods, shapes, classes of reports, the options that size them, and
// the errors that most packages return.
//
//	Options -> Settings -> shape of a filter, number of a generation, room that is left
//
// It holds no filter and no file, and has no locks: Settings never change.
package layout

// MaxSetDomains is how many domains of a set count: what signature.Set has at most.
const MaxSetDomains = 16
