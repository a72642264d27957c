package judging

// Policy is what a verdict goes by, beside the facts.
type Policy struct {
	Site      string // this one
	Votes     int    // how many sites must vote for a message to list it
	Campaigns int    // reports after which a domain that is found in spam only lists a message; negative: never
}
