package judging

import "github.com/spambloom/spambloom/signature"

// Policy contains the options that affect a verdict.
type Policy struct {
	Site      string // this site
	Votes     int    // number of sites that must vote for a message to list it
	Campaigns int    // number of campaigns after which a domain that occurs almost only in spam lists a message; negative: never

	// Sender is the proven From domain of the message; "" if it has none. If this site knows the
	// domain (package commonness), near matches do not list its mail.
	Sender string

	// Settled contains what messages are at this site, by the signatures of their texts and
	// bodies, whatever the filters contain: true is spam. May be nil.
	Settled map[signature.Signature]bool
}
