package judging

import (
	"math"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// question is a message to look up in one keyspace, and the facts gathered so far.
type question struct {
	ks     *keyspace.Keyspace
	view   store.View
	exact  []signature.Signature // the set's signatures
	groups []sketch.KindGroups   // groups of the set's sketches; none if no keyspace has sketches

	plain uint64 // a bit for each sketch that does not stand for the message

	// few or many contains the positions of exact, see hashes.
	few  [8]filter.Hash
	many []filter.Hash

	// isLayered reports whether a signature may be retouched under another key. Then a
	// listing older than the newest one may decide.
	isLayered bool

	facts
	isMessageKnown bool // facts.message is gathered

	sender string // proven From domain; "": none
}

// hashes returns the positions of exact. For most messages it needs no allocation.
func (q *question) hashes() []filter.Hash {
	if n := len(q.exact); n <= len(q.few) {
		return q.few[:n]
	}
	return q.many
}

// facts is the content of filters about one message.
type facts struct {
	signatures []signatureFacts  // signatures that some keyspace may list
	sketches   []sketchFacts     // sketches that match in some keyspace
	message    messageFacts      // gathered if sketches or votes list the message
	votedBy    []string          // sites that vote for the message
	vote       int               // index in Keys of the best signature that one of them has
	counts     []store.SiteCount // counts of its counting signatures
	links      []linkFacts       // gathered if nothing else lists the message
	never      never.Coverage
	limits     signature.Limits
	doubted    string // sender of the message, if near matches need more because the site is new
}

// signatureFacts is the content of filters about one signature.
type signatureFacts struct {
	signature signature.Signature
	listed    []listedIn  // newest generation first
	revoked   layout.Word // the newest revocation, or neverRevoked
	retouched []int64     // generations in which the signature itself is retouched
	classes   []classedIn // newest first: each generation with a graver class than all newer ones
}

// listedIn contains the sites that reported a signature in one generation.
type listedIn struct {
	word  layout.Word // the newest report
	sites []string
}

type classedIn struct {
	word  layout.Word // the newest report of the generation
	class layout.Class
}

// sketchFacts is the content of filters about the near-duplicates of one sketch.
type sketchFacts struct {
	number  int           // index of the sketch in its set
	matches []sketchMatch // newest generation first
	words   words         // about near-duplicates, down to the newest revocation
}

type sketchMatch struct {
	Match
	isStrong bool     // false: a weak match
	isHeld   bool     // a weak match that would be a strong one if the site were not new
	keys     []uint64 // found ones; nil if nothing is declared
	isApart  bool     // revocations of near-duplicates do not take it back, see sketch.Query.Apart
}

// messageFacts contains the reasons not to list a message by its sketches or votes: revocations
// and retouches of its own body or text.
type messageFacts struct {
	words     words   // about its body and its text
	retouched []int64 // generations in which it is retouched
}

// linkFacts is the content of filters about one link domain.
type linkFacts struct {
	domain  string
	counts  store.DomainCounts
	reports signatureFacts // facts about the domain's signature
}

// neverRevoked is older than every generation.
const neverRevoked = math.MinInt64

// hits is what the first round of lookups found in any keyspace. Nothing else is looked up
// further.
type hits struct {
	signatures []store.Span // for each of the set's signatures
	sketches   uint64       // one bit for each sketch number
	votes      int          // number of votes
}
