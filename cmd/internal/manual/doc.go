// Package manual writes the man pages of a command. It owns their form and no words:
// all that stands in them is the command's own help, so that the two cannot differ.
//
//	cobra.Command -> Long, flags, example -> sections -> man(7)
//
// In a Long text, paragraphs stand between empty lines. A line such as "Exit codes:"
// or "Files:" opens a section of the page. Lines of the form "TERM  text", with two
// blanks or more between, are a list, whose text goes on in lines that are indented.
//
// Pages have no date: they are the same whenever they are made.
package manual
