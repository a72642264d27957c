// Package visible has the texts of a message as a reader sees them: which text parts are
// shown, in which order their letters stand, what is hidden, and what their author did not
// write.
//
// Texts is filled by Note and Add for each part, and gives a View of each by Show, which
// reads a part once. It belongs to one goroutine; Reset empties it for the next message.
// HTML is read by package page, words are made by package words.
package visible
