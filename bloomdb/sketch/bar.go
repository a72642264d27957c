package sketch

import "github.com/spambloom/spambloom/signature"

// From returns the query for mail of a proven From domain; "" is none. At a new site its matches need
// NearlyAll, unless mail of the domain was reported. That is asked only if Enough keys are found.
func (q Query) From(sender string) Query {
	q.sender = sender
	return q
}

// isEnough reports whether an overlap makes a match.
func (q *Query) isEnough(o Overlap) bool {
	g := q.Groups[o.Group]
	return o.Found >= Enough(g) && (o.Found >= NearlyAll(q.Kind, g) || !q.isDoubted())
}

// isDoubted asks once.
func (q *Query) isDoubted() bool {
	if !q.isAsked {
		q.isAsked, q.doubted = true, q.common.Doubts(q.sender)
	}
	return q.doubted
}

// The keys that a report stores with an anchor (FORMAT.md of package signature), and how many of
// them are nearly all. Variations of an image keep 15 to 20 of its keys.
const (
	textKeys, nearlyText        = 20, 18
	nearlyFewest                = 11 // of the 12 keys that the shortest text has
	imageKeys, nearlyImage      = 20, 15
	runKeys, nearlyRuns         = 16, 12
	contentKeys, nearlyContents = 12, 9

	needOfRuns   = 3  // Group.Need of runs of words
	codesOfThree = 17 // numbers that two senders of a page's structure never have together
)

// NearlyAll returns how many keys of a group are nearly all of what a report stored; of the structure of
// a page, those of three senders.
func NearlyAll(kind signature.Kind, g signature.Group) int {
	of := func(stored, nearly int) int {
		return (min(stored, len(g.Keys))*nearly + stored - 1) / stored
	}
	switch {
	case kind == signature.KindSketch:
		return max(of(textKeys, nearlyText), nearlyFewest)
	case kind == signature.KindImage:
		return of(imageKeys, nearlyImage)
	case !hasWords(g):
		return codesOfThree
	case g.Need == needOfRuns:
		return of(runKeys, nearlyRuns)
	}
	return of(contentKeys, nearlyContents)
}
