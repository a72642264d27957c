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

// Bounds of the never-list.
const (
	Most     = 10_000
	mostNote = 200 // bytes
	// MostKeys is how many keys are kept of one sketch: the smallest ones, and
	// of a message that is asked about only keys as small are compared (a bottom-k
	// sketch: Cohen and Kaplan, "Summarizing data using bottom-k sketches", 2007).
	MostKeys = 256
	// minNeverKeys is how many keys a near-duplicate has in common with the message
	// that was declared, at least.
	minNeverKeys = 8
	// maxNeverSame bounds the entries that one key leads to, and so the time of a
	// question, where very many near-duplicates of each other are declared.
	maxNeverSame = 32
	// MostSketches bounds the sketches of one entry: the text, and images.
	MostSketches = 17
)

// ErrNever refuses a report of a message on the never-list.
var ErrNever = errors.New("the message is on the never-list")

// Declared is one message on the never-list.
type Declared struct {
	ID         string    // of its strongest signature
	At         time.Time // when it was declared
	Note       string    // by whoever declared it
	Signatures int       // exact ones that are kept
	Keys       int       // of its sketches
}

// Entry is an entry as it is kept.
type Entry struct {
	Name     layout.ShortID
	At       int64 // seconds since 1970
	Note     string
	Exact    []Signature
	Sketches []Sketch
}

// Signature is the keyed hash of a signature; the kind says what it covers.
type Signature struct {
	Kind signature.Kind
	Hash filter.Hash
}

// Sketch are the smallest keyed keys of a sketch, ascending. All says that
// there are no others.
type Sketch struct {
	Kind signature.Kind
	Keys []uint64
	All  bool
}

// List is what this site declares never to be spam. It is exact: no Bloom
// filter, which would spare other mail too.
type List struct {
	key    keyring.Sip  // of the keys of sketches, which are positions in no filter
	Spared atomic.Int64 // judgements that it changed

	Changing sync.Mutex // serialises changes of the list and its files; taken before mu

	Mu      sync.RWMutex // guards all below
	Entries map[layout.ShortID]*Entry
	exact   map[filter.Hash]bool
	index   map[uint64][]keptSketch // by key of a sketch; at most maxNeverSame
}

// keptSketch is one sketch of the list, in the index.
type keptSketch *Sketch

func New(key keyring.Sip) *List {
	l := &List{key: key}
	l.rebuild(make(map[layout.ShortID]*Entry))
	return l
}

// IsPart reports whether a kind stands for one part of a message. Such a part may be
// in other mail too, so that its declaration covers the part and not the message.
func IsPart(k signature.Kind) bool {
	return k == signature.KindAttachment || k == signature.KindContent || k == signature.KindImage
}

// Coverage is what of one message the never-list contains.
type Coverage struct {
	Message bool                         // all of it, but parts that are not declared
	Parts   map[signature.Signature]bool // parts that are declared
	Images  bool                         // each of its image sketches is declared
}

// CheckNote refuses a note that is too long, or would disturb a list.
func CheckNote(note string) error {
	if len(note) > mostNote {
		return fmt.Errorf("note of %d bytes, must be at most %d", len(note), mostNote)
	}
	if !utf8.ValidString(note) || strings.ContainsFunc(note, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return fmt.Errorf("note %q: only visible characters and blanks are allowed", note)
	}
	return nil
}

// OfMessage are the sketches that stand for a message: not those of what it carries or
// hides, as it would be in a message that shows it itself. These are only asked: of the
// text the second one, of images those that follow another one.
// Else a spam that carries a declared newsletter would be declared, too.
func OfMessage(sketches []signature.Sketch) []signature.Sketch {
	var of []signature.Sketch
	for i, s := range sketches[:min(len(sketches), MostSketches)] {
		isPlain := s.AskOnly && i > 0 && sketches[i-1].Kind == s.Kind && (i == 1 || s.Kind == signature.KindImage)
		if !isPlain {
			of = append(of, s)
		}
	}
	return of
}
