package sketch

import "github.com/spambloom/spambloom/signature"

// Bar returns how many keys of a group make a match. It is asked only if Enough of them are found.
type Bar func(signature.Kind, signature.Group) int

// AtLeast returns the query with a higher bar for matches than Enough.
func (q Query) AtLeast(bar Bar) Query {
	q.atLeast = bar
	return q
}

// isEnough reports whether an overlap makes a match.
func (q *Query) isEnough(o Overlap) bool {
	g := q.Groups[o.Group]
	return o.Found >= Enough(g) && (q.atLeast == nil || o.Found >= q.atLeast(q.Kind, g))
}

// The keys that a report stores with an anchor (FORMAT.md of package signature), and how many of
// them are nearly all. Variations of an image keep 15 to 20 of its keys.
const (
	textKeys, nearlyText        = 20, 18
	imageKeys, nearlyImage      = 20, 15
	runKeys, nearlyRuns         = 16, 12
	contentKeys, nearlyContents = 12, 9

	needOfRuns   = 3  // Group.Need of runs of words
	codesOfThree = 17 // numbers that two senders of a page's structure never have together
)

// NearlyAll is a Bar: a message must contain nearly all of what was reported, or have the structure
// of a page that three senders sent.
func NearlyAll(kind signature.Kind, g signature.Group) int {
	of := func(stored, nearly int) int {
		return (min(stored, len(g.Keys))*nearly + stored - 1) / stored
	}
	switch {
	case kind == signature.KindSketch:
		return of(textKeys, nearlyText)
	case kind == signature.KindImage:
		return of(imageKeys, nearlyImage)
	case !hasWords(g):
		return codesOfThree
	case g.Need == needOfRuns:
		return of(runKeys, nearlyRuns)
	}
	return of(contentKeys, nearlyContents)
}
