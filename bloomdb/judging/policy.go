package judging

// Policy contains the options that affect a verdict.
type Policy struct {
	Site      string // this site
	Votes     int    // number of sites that must vote for a message to list it
	Campaigns int    // number of campaigns after which a domain that occurs almost only in spam lists a message; negative: never
}
