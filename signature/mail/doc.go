// Package mail reads messages as they occur, with their faults: header fields, the tree of
// parts, transfer encodings and charsets, and what servers changed on the way. It also
// reads feedback reports, attached messages, and whether a message is an answer.
//
// Parse splits a message, and Walk calls a function for each part that has no parts. Leaf
// has the content of a part. Nothing fails: a fault costs its part only, and the limits
// that were reached are returned. The package has no state. Which parts are shown
// or signed is decided by packages visible and signature.
package mail
