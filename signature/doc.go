// Package signature turns a mail message into signatures: short digests by which another
// copy of the same message is recognised, on this site or on another.
//
// The life of a message, with the package of each step:
//
//	raw message
//	    | Parse, Walk: header, parts, transfer encodings, charsets       mail
//	    v
//	leaf parts ---------------------------------------------------+
//	    | every part, exactly: KindBody, KindAttachment           |      signature, digest
//	    | archives and PDFs, however packed: KindContent          |      archive
//	    | images, near-duplicates: KindImage                      |      picture, sketch
//	    v                                                         v
//	text parts, as readers see them: hidden text, quotes                 visible, page
//	    | domains of links: KindDomain                                   links
//	    v
//	words: folded look-alikes, boilerplate, enough content               words
//	    | mail of programs that must not be listed                       guard
//	    | the whole text: KindText; its near-duplicates: KindSketch      digest, sketch
//	    | few words with a link: KindPhrase; a page: KindShape           links, page, sketch
//	    v
//	Set
//
// A digest is equal or not. Of KindSketch, KindImage and KindShape, enough features have to
// be equal.
// KindDomain only supports them. The packages import each other in one direction:
//
//	work, ascii, span, digest, suffix, picture, sketch, mail, page, visible, words, links,
//	guard, archive, signature
//
// The package owns Compute, the types of its answer, and the rules for how much content a
// message needs to be signed. It has aliases of the types that its callers need, so that
// they import no other. A part that is broken, by accident or on purpose, costs that part,
// never the rest of the message. The cost of a message is bounded by its size (package
// work; FORMAT.md, "Cost").
//
// It does not contain what signatures are used for, and it reads no network, files or
// clock: the same message has the same signatures everywhere. It holds no locks: each call
// of Compute has a computer of its own from a pool, which holds one struct for each
// package. FORMAT.md lists what is hashed, byte by byte.
package signature
