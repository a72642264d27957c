package judging

import (
	"cmp"
	"math"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// question is a message as one keyspace is asked about it, and what was gathered.
type question struct {
	ks     *keyspace.Keyspace
	view   store.View
	groups []sketch.KindGroups // of the set's sketches; none where no keyspace holds sketches

	// few or many are the positions of the set's signatures, see hashes.
	few  [8]filter.Hash
	many []filter.Hash

	// isLayered is set if a signature may be retouched under another key. Then older
	// listings than the newest one may decide.
	isLayered bool

	facts
	isMessageKnown bool // facts.message is gathered
}

// hashes returns the positions of the set's signatures. Those of most messages take no
// memory of their own.
func (q *question) hashes() []filter.Hash {
	if n := len(q.set.Signatures); n <= len(q.few) {
		return q.few[:n]
	}
	return q.many
}

// facts are what filters contain of one message.
type facts struct {
	set        signature.Set
	signatures []signatureFacts  // of those that some keyspace may list
	sketches   []sketchFacts     // of those that match in some keyspace
	message    messageFacts      // gathered where sketches or votes list it
	voters     []string          // sites that vote for it
	vote       int               // index in Keys of the best signature by which one does
	counts     []store.SiteCount // of its counting signatures
	links      []linkFacts       // gathered where nothing else lists it
	never      never.Coverage
	limits     signature.Limits
}

// signatureFacts are what is known of one signature.
type signatureFacts struct {
	signature signature.Signature
	listed    []listedIn  // the newest generation first
	revoked   layout.Word // the newest revocation; neverRevoked
	retouched []int64     // generations in which it is retouched itself
	classes   []classedIn // newest first: each generation that has a graver class than all newer ones
}

// listedIn are the sites that reported a signature in one generation.
type listedIn struct {
	word  layout.Word // the newest report
	sites []string
}

type classedIn struct {
	word  layout.Word // the newest report of the generation
	class layout.Class
}

// sketchFacts are what is known of near-duplicates by one sketch.
type sketchFacts struct {
	number  int           // of the sketch in its set
	matches []sketchMatch // the newest generation first
	words   words         // about near-duplicates, down to the newest revocation
}

type sketchMatch struct {
	Match
	isStrong bool // it is a match; else a weak one
}

// messageFacts are what speaks against a listing of the message itself, by its body or text.
type messageFacts struct {
	words     words   // about its body and its text
	retouched []int64 // generations in which it is retouched
}

// words are the newest words in generations that have a revocation, newest generation first.
type words []wordAbout

// wordAbout is the newest word about one thing in one generation.
type wordAbout struct {
	number int // of the signature in its set; 0 for a sketch
	word   layout.Word
}

// revoked returns the newest generation in which a revocation is the newest word;
// neverRevoked.
func (ws words) revoked() int64 {
	for _, w := range ws {
		if layout.IsRevocation(w.word.Rung()) {
			return w.word.Gen()
		}
	}
	return neverRevoked
}

// unite keeps the newest word about each thing in each generation.
func (ws words) unite(os words) words {
	ws = merged(ws, os,
		func(w, o wordAbout) bool { return w.number == o.number && w.word.Gen() == o.word.Gen() },
		func(w *wordAbout, o wordAbout) { w.word = max(w.word, o.word) })
	slices.SortStableFunc(ws, func(w, o wordAbout) int { return cmp.Compare(o.word.Gen(), w.word.Gen()) })
	return ws
}

// linkFacts are what is known of one link domain.
type linkFacts struct {
	domain  string
	counts  store.DomainCounts
	reports signatureFacts // of the domain's signature
}

// neverRevoked is older than every generation.
const neverRevoked = math.MinInt64

// hits are what any keyspace may have of a message. Nothing else is looked at closely.
type hits struct {
	signatures []store.Span // of the set's signatures
	sketches   uint64       // a bit for each number
	votes      int
}
