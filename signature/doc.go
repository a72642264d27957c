// Package signature turns a mail message into signatures: short digests by
// which another copy of the same message is known again, on this site or on
// another.
//
//	raw message --Parse--> Message --walk--> leaf parts, transfer decoded
//	                       (or from a milter)     |            |
//	                                    every part, exactly    texts a reader sees,
//	                                     |           |         normalised, with links
//	                                KindBody   KindAttachment   |          |
//	                                          images, archives  |   words of the author
//	                                              |             |          |
//	                                KindImage, KindContent   KindText,  KindSketch,
//	                                                         KindDomain
//
// Most kinds are digests that are equal or not. KindSketch and KindImage are sketches,
// of which enough has to be equal, and KindDomain only speaks beside them.
//
// It owns the reading of mail as it really comes, with faults by accident and
// on purpose: a part that is broken costs that part, never the rest of the
// message, and the cost of a message is bounded by its size (work.go; FORMAT.md,
// "Cost"). It owns the rules for how much content a message needs to be signed. It
// does not know what signatures are used for, and it reads no network, files or clock:
// the same message has the same signatures everywhere. FORMAT.md has what is hashed,
// byte by byte.
package signature
