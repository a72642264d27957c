// Package words makes the normalised words of a text: folded look-alikes, without links and
// numbers, with the author of each. It owns the phrases of boilerplate, how much content a
// text has, and the words of a sketch.
//
// A Tokeniser collects the words of one or more texts until it is full, a Sketcher makes
// sketches of them. Both belong to one goroutine; Reset empties them for the next message.
// Tables and phrases are made once and never change.
package words
