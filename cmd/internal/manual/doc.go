// Package manual generates the man pages of a command with cobra's generator. It adds
// missing features, but no text: the pages contain only the command's own help.
//
//	cobra.Command -> Long as Markdown -> cobra/doc -> man(7)
//
// In a Long text, empty lines separate paragraphs. A line such as "Exit codes:" or "Files:"
// begins a section of the page. Lines of the form "TERM  text", with two or more blanks
// between, form a list; indented lines continue the text of an entry.
//
// Pages contain no date, so that they are reproducible.
package manual
