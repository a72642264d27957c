package judging

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Evidence is the answer to both questions about one message.
type Evidence struct {
	Listed  bool         // some signature was reported and not revoked
	Class   layout.Class // the gravest of the matches that stand
	Matches []Match      // the signatures with a listing, revoked or not; those that stand first
	Weak    []Match      // sketches of which fewer keys were found than a match needs; none is revoked
	Votes   int          // sites with wire.TrustVote that vote for the message, see vote.Error
	Count   uint64       // how often the message was seen: the largest over its counting keys, all sites summed
	Sites   int          // listed: sites that reported a signature; else sites that counted it

	// Never reports whether the message is on the never-list. It is listed then only for an
	// attachment that the declared message did not have.
	Never  bool
	Spared []Match // listings that do not count, since the never-list has the message or the part

	Limits signature.Limits // reached during the lookups: LimitGroups or none
}

// Match is a signature that was reported. The newest generation wins, within one
// the revocation wins.
type Match struct {
	Signature  signature.Signature
	Revoked    bool
	Class      layout.Class // the gravest under which a listing that stands was reported
	Generation int64        // the newest that lists it: number of the period since 1970
	Sites      []string     // that reported it in that generation

	// Of a sketch, whose Signature has the anchor in its digest's first 8 bytes: the
	// keys that were found of those asked for, and how many of them a match needs.
	Found, Need, Keys int

	By string // of signature.KindShape: what joined the structure, see signature.Group

	Domain string // of a link; of signature.KindDomain only

	// Votes reports whether it is listed by the votes of Sites, of which Policy.Votes must
	// agree. Votes have no generation: a revocation in any generation revokes the match.
	Votes bool
}

// IsSpared reports whether only the never-list keeps the message from being listed.
func (e *Evidence) IsSpared() bool {
	return !e.Listed && slices.ContainsFunc(e.Spared, func(m Match) bool { return !m.Revoked })
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reporters counts the sites behind the matches that stand.
func reporters(matches []Match) int {
	var sites []string
	for _, m := range matches {
		if !m.Revoked {
			sites = append(sites, m.Sites...)
		}
	}
	slices.Sort(sites)
	return len(slices.Compact(sites))
}

// isOfMessage reports whether a signature stands for its message: that of the body or of the
// text. That of an attachment does not.
func isOfMessage(k signature.Kind) bool { return k == signature.KindBody || k == signature.KindText }
