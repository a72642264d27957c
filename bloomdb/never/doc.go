// Package never holds the never-list: the messages that this site declared never to be spam.
// The list is exact and not a filter. Each entry is a file.
//
//	Write, Put       declare a message
//	Covers           returns which parts of a message are declared
//	Remove           removes entries
//
// It does not decide verdicts. Changing serialises changes of the list and its files; Mu
// guards the list and is taken last.
package never
