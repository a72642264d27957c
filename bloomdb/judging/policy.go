package judging

import "github.com/spambloom/spambloom/signature"

// Policy is what a verdict goes by, beside the facts.
type Policy struct {
	Site      string // this one
	Votes     int    // how many sites must vote for a message to list it
	Campaigns int    // reports after which a domain that is found in spam only lists a message; negative: never

	// Settled says what messages are at this site, by the signatures of their texts and bodies,
	// whatever the filters have. true is spam. May be nil.
	Settled map[signature.Signature]bool
}
