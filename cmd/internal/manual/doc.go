// Package manual makes the man pages of a command, with cobra's generator. It adds what
// that lacks, and no words: all that stands in a page is the command's own help.
//
//	cobra.Command -> Long as Markdown -> cobra/doc -> man(7)
//
// In a Long text, paragraphs stand between empty lines. A line such as "Exit codes:"
// or "Files:" opens a section of the page. Lines of the form "TERM  text", with two
// blanks or more between, are a list, whose text goes on in lines that are indented.
//
// Pages have no date: they are the same whenever they are made.
package manual
