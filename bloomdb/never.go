package bloomdb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Bounds of the never-list.
const (
	maxNever     = 10_000
	maxNeverNote = 200 // bytes
	// maxNeverKeys is how many keys are kept of one sketch: the smallest ones, and
	// of a message that is asked about only keys as small are compared (a bottom-k
	// sketch: Cohen and Kaplan, "Summarizing data using bottom-k sketches", 2007).
	maxNeverKeys = 256
	// minNeverKeys is how many keys a near-duplicate has in common with the message
	// that was declared, at least.
	minNeverKeys = 8
	// maxNeverSame bounds the entries that one key leads to, and so the time of a
	// question, where very many near-duplicates of each other are declared.
	maxNeverSame = 32
	// maxNeverSketches bounds the sketches of one entry: the text, and images.
	maxNeverSketches = 17
)

// ErrNever refuses a report of a message on the never-list.
var ErrNever = errors.New("the message is on the never-list")

// NeverEntry is one message on the never-list.
type NeverEntry struct {
	ID         string    // of its strongest signature
	At         time.Time // when it was declared
	Note       string    // by whoever declared it
	Signatures int       // exact ones that are kept
	Keys       int       // of its sketches
}

// neverEntry is an entry as it is kept.
type neverEntry struct {
	name     shortID
	at       int64 // seconds since 1970
	note     string
	exact    []neverSignature
	sketches []neverSketch
}

// neverSignature is the keyed hash of a signature; the kind says what it covers.
type neverSignature struct {
	kind signature.Kind
	hash filter.Hash
}

// neverSketch are the smallest keyed keys of a sketch, ascending. All says that
// there are no others.
type neverSketch struct {
	kind signature.Kind
	keys []uint64
	all  bool
}

func (e *neverEntry) public() NeverEntry {
	p := NeverEntry{ID: e.name.String(), At: unixTime(e.at), Note: e.note, Signatures: len(e.exact)}
	for _, s := range e.sketches {
		p.Keys += len(s.keys)
	}
	return p
}

// neverList is what this site declares never to be spam. It is exact: no Bloom
// filter, which would spare other mail too.
type neverList struct {
	key    sipKey       // of the keys of sketches, which are positions in no filter
	spared atomic.Int64 // judgements that it changed

	changing sync.Mutex // serialises changes of the list and its files; taken before mu

	mu      sync.RWMutex // guards all below
	entries map[shortID]*neverEntry
	exact   map[filter.Hash]bool
	index   map[uint64][]keptSketch // by key of a sketch; at most maxNeverSame
}

// keptSketch is one sketch of the list, in the index.
type keptSketch *neverSketch

func newNeverList(key sipKey) *neverList {
	l := &neverList{key: key}
	l.rebuild(make(map[shortID]*neverEntry))
	return l
}

// rebuild makes the index of entries anew. The lock is held.
func (l *neverList) rebuild(entries map[shortID]*neverEntry) {
	l.entries, l.exact, l.index = entries, make(map[filter.Hash]bool), make(map[uint64][]keptSketch)
	for _, e := range entries {
		l.enter(e)
	}
}

// enter adds an entry to the index. The lock is held.
func (l *neverList) enter(e *neverEntry) {
	for _, s := range e.exact {
		l.exact[s.hash] = true
	}
	for i := range e.sketches {
		s := &e.sketches[i]
		for _, key := range s.keys {
			if len(l.index[key]) < maxNeverSame {
				l.index[key] = append(l.index[key], s)
			}
		}
	}
}

// put adds entries, or replaces those of the same name.
func (l *neverList) put(entries ...*neverEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		_, replaced := l.entries[e.name]
		l.entries[e.name] = e
		if replaced {
			l.rebuild(l.entries)
		} else {
			l.enter(e)
		}
	}
}

func (l *neverList) remove(names []shortID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		delete(l.entries, name)
	}
	l.rebuild(l.entries)
}

// all lists the entries, the one declared last first.
func (l *neverList) all() []*neverEntry {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]*neverEntry, 0, len(l.entries))
	for _, e := range l.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *neverEntry) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.name.kind, b.name.kind), slices.Compare(a.name.id[:], b.name.id[:]))
	})
	return list
}

// isPart reports whether a kind stands for one part of a message. Such a part may be
// in other mail too, so that its declaration covers the part and not the message.
func isPart(k signature.Kind) bool {
	return k == signature.KindAttachment || k == signature.KindContent || k == signature.KindImage
}

// coverage is what of one message the never-list contains.
type coverage struct {
	message bool                         // all of it, but parts that are not declared
	parts   map[signature.Signature]bool // parts that are declared
	images  bool                         // each of its image sketches is declared
}

// spares reports whether a listing under s does not count.
func (c *coverage) spares(s signature.Signature) bool {
	switch {
	case s.Kind == signature.KindImage:
		return c.images
	case isPart(s.Kind):
		return c.parts[s]
	}
	return c.message
}

// isEmpty reports whether nothing of the message is declared.
func (c *coverage) isEmpty() bool { return !c.message && !c.images && len(c.parts) == 0 }

// unite returns what is declared in one list or the other.
func (c coverage) unite(o coverage) coverage {
	parts := maps.Clone(c.parts)
	if parts == nil {
		parts = o.parts
	} else {
		maps.Copy(parts, o.parts)
	}
	return coverage{c.message || o.message, parts, c.images || o.images}
}

// covers returns what of a message is declared: its exact signatures, of which hashes are
// the positions, and where none of its text is, its sketch.
func (l *neverList) covers(set *signature.Set, hashes []filter.Hash) (c coverage) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.entries) == 0 {
		return c
	}
	for i, s := range set.Signatures {
		switch {
		case !l.exact[hashes[i]]:
		case isPart(s.Kind):
			if c.parts == nil {
				c.parts = make(map[signature.Signature]bool)
			}
			c.parts[s] = true
		default:
			c.message = true
		}
	}
	of, declared := make(map[signature.Kind]int), make(map[signature.Kind]int)
	for _, s := range ofMessage(set.Sketches) {
		of[s.Kind]++
		if l.hasSketch(s) {
			declared[s.Kind]++
		}
	}
	all := func(k signature.Kind) bool { return of[k] > 0 && declared[k] == of[k] }
	// A spam that hides a declared text in itself is not spared: all readings must be it.
	c.message = c.message || all(signature.KindSketch)
	c.images = all(signature.KindImage)
	return c
}

// covers returns what of a message is declared under any key.
func (db *DB) covers(set signature.Set) (c coverage) {
	for _, ks := range db.keys {
		hashes := make([]filter.Hash, len(set.Signatures))
		for i, s := range set.Signatures {
			hashes[i] = ks.ring.reportHash(s)
		}
		c = c.unite(ks.never.covers(&set, hashes))
	}
	return c
}

// hasSketch tells whether at least half of a sketch's keys are those of one
// declared sketch. It is half of the message that is asked about, not of the
// declared one: who adds more text of his own than he copied is not spared. The
// lock is held.
func (l *neverList) hasSketch(asked signature.Sketch) bool {
	keys := l.keyed(asked)
	shared := make(map[keptSketch]int)
	for _, key := range keys {
		for _, kept := range l.index[key] {
			if kept.kind == asked.Kind {
				shared[kept]++
			}
		}
	}
	for kept, n := range shared {
		comparable := len(keys)
		if !kept.all {
			comparable, _ = slices.BinarySearch(keys, kept.keys[len(kept.keys)-1]+1)
		}
		if n >= minNeverKeys && 2*n >= comparable {
			return true
		}
	}
	return false
}

// keyed returns the keys of a sketch as they are kept: hashed, each once, ascending. Who reads the file and has no federation key cannot find words in it.
func (l *neverList) keyed(s signature.Sketch) []uint64 {
	keys := make([]uint64, 0, len(s.Keys))
	for _, f := range s.Keys {
		keys = append(keys, l.key.hash(f.Hash)>>1) // room for one more than the largest
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// newEntry writes a message as an entry.
func (ks *keyspace) newEntry(set signature.Set, note string) *neverEntry {
	e := &neverEntry{name: newShortID(set.Signatures[0]), at: ks.opt.Now().Unix(), note: note}
	for _, s := range set.Signatures {
		e.exact = append(e.exact, neverSignature{s.Kind, ks.ring.reportHash(s)})
	}
	for _, s := range ofMessage(set.Sketches) {
		keys := ks.never.keyed(s)
		if kept := keys[:min(len(keys), maxNeverKeys)]; len(kept) > 0 {
			e.sketches = append(e.sketches, neverSketch{s.Kind, slices.Clone(kept), len(kept) == len(keys)})
		}
	}
	return e
}

// Never declares that a message is never spam, on this site only: it is not listed
// whoever reported it, and a report of it here is refused with ErrNever. So is a
// near-duplicate, of which at least half of the keys of its sketch are those of
// the declared message. An attachment, or an image, of the message is not listed
// in other mail either; one that the message did not have is, also beside the
// declared text. Declaring a message again changes its note, at most 200 bytes of
// visible characters.
//
// When it returns nil, the declaration is on disk. ErrNothing, ErrFull, ErrClosed,
// or a wrapped I/O error, after which nothing was declared. During a roll-over it may then
// be declared under one key after a restart.
func (db *DB) Never(set signature.Set, note string) (NeverEntry, error) {
	if err := db.ks.writable(set); err != nil {
		return NeverEntry{}, err
	}
	if err := CheckNote(note); err != nil {
		return NeverEntry{}, err
	}
	var declared NeverEntry
	err := db.update(func(ks *keyspace) (update, error) {
		e, u, err := ks.prepareNever(set, note)
		if ks == db.ks {
			declared = e
		}
		return u, err
	})
	if err != nil {
		return NeverEntry{}, err
	}
	return declared, nil
}

// prepareNever makes the entry, if there is room. Until release is called, nobody else
// changes the list.
func (ks *keyspace) prepareNever(set signature.Set, note string) (NeverEntry, update, error) {
	ks.never.changing.Lock()
	e := ks.newEntry(set, note)
	return e.public(), update{
		write:   func() error { return writeNever(ks.opt.Dir, ks.ring.keyID, e) },
		show:    func() error { ks.never.put(e); return nil },
		release: ks.never.changing.Unlock,
	}, ks.never.fits(e)
}

// fits says whether there is room for an entry.
func (l *neverList) fits(e *neverEntry) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if n := len(l.entries); n >= maxNever && l.entries[e.name] == nil {
		return fmt.Errorf("never-list: %w: it has %d messages, at most %d", ErrFull, n, maxNever)
	}
	return nil
}

// CheckNote refuses a note that is too long, or would disturb a list.
func CheckNote(note string) error {
	if len(note) > maxNeverNote {
		return fmt.Errorf("note of %d bytes, must be at most %d", len(note), maxNeverNote)
	}
	if !utf8.ValidString(note) || strings.ContainsFunc(note, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return fmt.Errorf("note %q: only visible characters and blanks are allowed", note)
	}
	return nil
}

// Unnever takes a message off the never-list: all entries with one of its
// signatures that is not of a part, or of any where it has no others. None is no
// error. When it returns nil, that is on disk. ErrNothing, ErrClosed, or a wrapped
// I/O error.
func (db *DB) Unnever(set signature.Set) ([]NeverEntry, error) {
	if err := db.ks.writable(set); err != nil {
		return nil, err
	}
	return db.unneverAll(func(ks *keyspace) ([]NeverEntry, error) { return ks.unneverSet(set) })
}

func (ks *keyspace) unneverSet(set signature.Set) ([]NeverEntry, error) {
	onlyParts := !slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return !isPart(s.Kind) })
	asked := make(map[filter.Hash]bool)
	for _, s := range set.Signatures {
		if onlyParts || !isPart(s.Kind) {
			asked[ks.ring.reportHash(s)] = true
		}
	}
	return ks.unnever(func(e *neverEntry) bool {
		return slices.ContainsFunc(e.exact, func(s neverSignature) bool { return asked[s.hash] })
	})
}

// UnneverID takes the entry of an id off the never-list; else as Unnever.
func (db *DB) UnneverID(id string) ([]NeverEntry, error) {
	if db.ks.closed.Load() {
		return nil, ErrClosed
	}
	return db.unneverAll(func(ks *keyspace) ([]NeverEntry, error) {
		return ks.unnever(func(e *neverEntry) bool { return e.name.String() == id })
	})
}

// unneverAll takes entries off all keyspaces' lists, and names each message once.
func (db *DB) unneverAll(unnever func(*keyspace) ([]NeverEntry, error)) (removed []NeverEntry, err error) {
	err = db.each(func(ks *keyspace) error {
		entries, err := unnever(ks)
		removed = uniteEntries(removed, entries)
		return err
	})
	return removed, err
}

func (ks *keyspace) unnever(chosen func(*neverEntry) bool) (removed []NeverEntry, err error) {
	ks.never.changing.Lock()
	defer ks.never.changing.Unlock()
	var names []shortID
	for _, e := range ks.never.all() {
		if !chosen(e) {
			continue
		}
		if err = os.Remove(neverPath(ks.opt.Dir, e.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("never-list: %w", err)
			break
		}
		err = nil
		names = append(names, e.name)
		removed = append(removed, e.public())
	}
	if len(names) == 0 {
		return nil, err
	}
	ks.never.remove(names)
	return removed, errors.Join(err, syncDir(ks.opt.Dir))
}

// NeverList lists the declared messages, the latest first.
func (db *DB) NeverList() []NeverEntry {
	list := []NeverEntry{}
	for _, ks := range db.keys {
		var entries []NeverEntry
		for _, e := range ks.never.all() {
			entries = append(entries, e.public())
		}
		list = uniteEntries(list, entries)
	}
	return list
}

// uniteEntries adds the entries of messages that are not listed yet; the latest comes first.
func uniteEntries(list, more []NeverEntry) []NeverEntry {
	isSame := func(e, o NeverEntry) bool { return e.ID == o.ID }
	list = merged(list, more, isSame, func(*NeverEntry, NeverEntry) {})
	slices.SortStableFunc(list, func(a, b NeverEntry) int { return b.At.Compare(a.At) })
	return list
}

// NeverStatus says how large the never-list is, and what it did since the start.
type NeverStatus struct {
	Entries int   `json:"entries"`
	Spared  int64 `json:"spared"` // judgements of messages that would have been spam
}

func (ks *keyspace) neverStatus() NeverStatus {
	ks.never.mu.RLock()
	defer ks.never.mu.RUnlock()
	return NeverStatus{len(ks.never.entries), ks.never.spared.Load()}
}

// reportable returns what of a message may be reported: without declared parts.
// ErrNever where the message is declared, or nothing is left.
func (db *DB) reportable(set signature.Set) (signature.Set, error) {
	set = set.ToReport()
	c, hadAny := db.covers(set), len(set.Signatures) > 0
	if c.message {
		return set, ErrNever
	}
	if len(c.parts) > 0 {
		set.Signatures = slices.DeleteFunc(slices.Clone(set.Signatures), c.spares)
	}
	if c.images {
		set.Sketches = slices.DeleteFunc(slices.Clone(set.Sketches), func(s signature.Sketch) bool { return s.Kind == signature.KindImage })
	}
	if len(set.Signatures) == 0 && hadAny {
		return set, ErrNever
	}
	return set, nil
}
