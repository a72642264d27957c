// Package layout defines which filters exist and how large they are: their kinds, the
// generations and their periods, shapes, classes of reports, the options that size them, and
// the errors that most packages return.
//
//	Options -> Settings -> shape of a filter, number of a generation, room that is left
//
// It contains no filter and no file, and has no locks: Settings never change.
package layout

// MaxSetDomains is the number of domains that are used of one message. A signature.Set has
// no more.
const MaxSetDomains = 16
