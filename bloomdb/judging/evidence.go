package judging

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Evidence is the result of Judge for one message: whether it is listed, and how often it was
// seen.
type Evidence struct {
	Listed   bool         // some signature was reported and not revoked
	Class    layout.Class // the gravest class of the matches that are not revoked
	Matches  []Match      // signatures with a listing; revoked ones last
	Weak     []Match      // sketches with fewer keys found than a match needs; none is revoked
	Votes    int          // sites with wire.TrustVote that vote for the message, see vote.Error
	Count    uint64       // how often the message was seen: the largest over its counting keys, all sites summed (countOf)
	OwnCount uint64       // the same of this site alone
	Sites    int          // listed: sites that reported a signature; else sites that counted it

	// Never reports whether the message is on the never-list. Then only an attachment that
	// the message on the list did not have can list it, or a near match of other words.
	Never  bool
	Spared []Match // listings that do not count, because the message or the part is on the never-list

	// Sender is the proven From domain that spares the message: near matches, which are among
	// Spared, do not list mail of a domain whose unreported mail this site knows. "": none does.
	Sender string

	// IsNewSite reports why Sender spares the message: not because its mail is known, but because this
	// site is new, and the near matches have less than nearly all of what was reported.
	IsNewSite bool

	Limits signature.Limits // reached during the lookups: LimitGroups or none
}

// Match is a signature that was reported. The newest generation decides; within one generation
// the revocation does.
type Match struct {
	Signature  signature.Signature
	Revoked    bool
	Class      layout.Class // the gravest class of its reports, without revoked ones
	Generation int64        // the newest generation that lists it: number of the period since 1970
	Sites      []string     // sites that reported it in that generation

	// For a sketch: the number of keys found, how many a match needs, and how many were
	// looked up. The first 8 bytes of Signature's digest are the anchor.
	Found, Need, Keys int

	By string // of signature.KindShape: what joined the structure, see signature.Group

	Domain string // link domain; only for signature.KindDomain

	// Votes reports whether the votes of Sites list the message; at least Policy.Votes sites
	// are needed. Votes have no generation: a revocation in any generation revokes the match.
	Votes bool
}

// IsSpared reports whether only the never-list, or its sender, keeps the message from being listed.
func (e *Evidence) IsSpared() bool {
	return !e.Listed && slices.ContainsFunc(e.Spared, func(m Match) bool { return !m.Revoked })
}

// IsVoted reports whether votes alone list the message, or would without the never-list.
func (e *Evidence) IsVoted() bool {
	return slices.ContainsFunc(slices.Concat(e.Matches, e.Spared), func(m Match) bool { return m.Votes && !m.Revoked })
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reporters returns the number of sites that reported the matches that are not revoked.
func reporters(matches []Match) int {
	var buf [32]string
	sites := buf[:0]
	for i := range matches {
		if m := &matches[i]; !m.Revoked {
			sites = append(sites, m.Sites...)
		}
	}
	slices.Sort(sites)
	return len(slices.Compact(sites))
}
