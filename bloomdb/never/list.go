package never

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// Limits of the never-list.
const (
	Most     = 10_000
	mostNote = 200 // bytes
	// MostKeys is the number of keys that are stored of one sketch: the smallest ones. Of a
	// message that is looked up, only keys in the same range are compared (a bottom-k sketch:
	// Cohen and Kaplan, "Summarizing data using bottom-k sketches", 2007).
	MostKeys = 256
	// minNeverKeys is the least number of keys that a near-duplicate has in common with the
	// declared message.
	minNeverKeys = 8
	// maxNeverSame limits the sketches that one key leads to. It bounds the time of a lookup
	// when many near-duplicates of each other are declared.
	maxNeverSame = 32
	// mostSketches is the largest number of sketches of one entry: the text's, and images'.
	mostSketches = 17
)

// ErrNever is the error for a report of a message on the never-list.
var ErrNever = errors.New("the message is on the never-list")

// Declared is one message on the never-list.
type Declared struct {
	ID         string    // id of its strongest signature
	At         time.Time // when it was declared
	Note       string    // as given with the declaration
	Signatures int       // number of exact signatures
	Keys       int       // number of keys of its sketches
}

// Entry is an entry as stored.
type Entry struct {
	Name     layout.ShortID
	At       int64 // seconds since 1970
	Note     string
	Exact    []Signature
	Sketches []Sketch
}

// Signature is the keyed hash of a signature, and its kind.
type Signature struct {
	Kind signature.Kind
	Hash filter.Hash
}

// Sketch contains the smallest keyed keys of a sketch, ascending. All reports whether it
// contains all of them.
type Sketch struct {
	Kind signature.Kind
	Keys []uint64
	All  bool
}

// List is the never-list in memory. It is exact: a Bloom filter would also spare other mail.
type List struct {
	key    keyring.Sip  // hashes keys of sketches; they are positions in no filter
	Spared atomic.Int64 // number of judgements that the list changed

	Changing sync.Mutex // serialises changes of the list and its files; taken before mu

	Mu      sync.RWMutex // guards all below
	Entries map[layout.ShortID]*Entry
	exact   map[filter.Hash]bool
	index   map[uint64][]keptSketch // by key of a sketch; at most maxNeverSame
}

// keptSketch is one sketch in the index.
type keptSketch *Sketch

func New(key keyring.Sip) *List {
	l := &List{key: key}
	l.rebuild(make(map[layout.ShortID]*Entry))
	return l
}

// IsPart reports whether a kind stands for one part of a message. Other mail may contain the
// same part, so a declaration covers the part and not the whole message.
func IsPart(k signature.Kind) bool {
	return k == signature.KindAttachment || k == signature.KindContent || k == signature.KindImage
}

// Coverage is what the never-list covers of one message.
type Coverage struct {
	Message bool                         // the whole message, except parts that are not declared
	Parts   map[signature.Signature]bool // parts that are declared
	Images  bool                         // each of its image sketches is declared
	IsNear  bool                         // Message is due to its sketch
	Apart   map[signature.Signature]bool // near matches of a near-duplicate that come from other words than the declared ones
}

// CheckNote rejects a note that is too long, or contains characters that would break a listing.
func CheckNote(note string) error {
	if len(note) > mostNote {
		return fmt.Errorf("note of %d bytes, must be at most %d", len(note), mostNote)
	}
	if !utf8.ValidString(note) || strings.ContainsFunc(note, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return fmt.Errorf("note %q contains control characters; only visible characters and blanks are allowed", note)
	}
	return nil
}

// OfMessage returns the sketches that stand for the message itself. It leaves out sketches of
// attached or hidden content, of structure, which other messages share, and sketches that exist only for lookups: the second one of the
// text, and those of images that follow another one. Otherwise, spam that attaches a declared
// newsletter would be covered, too.
func OfMessage(sketches []signature.Sketch) []signature.Sketch {
	var of []signature.Sketch
	for i, s := range sketches[:min(len(sketches), mostSketches)] {
		if !IsPlain(sketches, i) && s.Kind != signature.KindShape {
			of = append(of, s)
		}
	}
	return of
}

// IsPlain reports whether a sketch repeats the one before it without the marks of carried and
// hidden content. It finds a reported message inside another one, and does not stand for the
// message that it is made of.
func IsPlain(sketches []signature.Sketch, i int) bool {
	s := sketches[i]
	return s.AskOnly && i > 0 && sketches[i-1].Kind == s.Kind && (i == 1 || s.Kind == signature.KindImage)
}
