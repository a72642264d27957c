// Package never is the list of messages that this site declared never to be spam. It is
// exact, and not a filter; each entry is a file.
//
//	Write, Put       declare a message
//	Covers           which parts of a message are declared
//	Remove           takes entries off
//
// It does not decide verdicts. Changing is held by the one who changes the list and its
// files; the read lock of the list is taken last.
package never
