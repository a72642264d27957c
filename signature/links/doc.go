// Package links finds the registrable domains that a message links to, in HTML and in text,
// as browsers and mail programs read URLs. It owns the list of well-known domains and the
// choice of domains if there are too many.
//
// A Finder reads the views of one message's texts, and is emptied by Reset. Public suffixes
// are in package suffix.
package links
