package never

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

func (e *Entry) Public() Declared {
	p := Declared{ID: e.Name.String(), At: layout.UnixTime(e.At), Note: e.Note, Signatures: len(e.Exact)}
	for _, s := range e.Sketches {
		p.Keys += len(s.Keys)
	}
	return p
}

// rebuild rebuilds the index from entries. The caller holds Mu.
func (l *List) rebuild(entries map[layout.ShortID]*Entry) {
	l.Entries, l.exact, l.index = entries, make(map[filter.Hash]bool), make(map[uint64][]keptSketch)
	for _, e := range entries {
		l.enter(e)
	}
}

// enter adds an entry to the index. The caller holds Mu.
func (l *List) enter(e *Entry) {
	for _, s := range e.Exact {
		l.exact[s.Hash] = true
	}
	for i := range e.Sketches {
		s := &e.Sketches[i]
		for _, key := range s.Keys {
			if len(l.index[key]) < maxNeverSame {
				l.index[key] = append(l.index[key], s)
			}
		}
	}
}

// Put adds entries, and replaces those of the same name.
func (l *List) Put(entries ...*Entry) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, e := range entries {
		_, replaced := l.Entries[e.Name]
		l.Entries[e.Name] = e
		if replaced {
			l.rebuild(l.Entries)
		} else {
			l.enter(e)
		}
	}
}

func (l *List) Remove(names []layout.ShortID) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, name := range names {
		delete(l.Entries, name)
	}
	l.rebuild(l.Entries)
}

// All returns the entries, last declared first.
func (l *List) All() []*Entry {
	l.Mu.RLock()
	defer l.Mu.RUnlock()
	list := make([]*Entry, 0, len(l.Entries))
	for _, e := range l.Entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Name.Kind, b.Name.Kind), slices.Compare(a.Name.ID[:], b.Name.ID[:]))
	})
	return list
}

// Spares reports whether a listing of s is ignored.
func (c *Coverage) Spares(s signature.Signature) bool {
	switch {
	case s.Kind == signature.KindImage:
		return c.Images
	case IsPart(s.Kind):
		return c.Parts[s]
	}
	return c.Message && !c.Apart[s]
}

// IsEmpty reports whether nothing of the message is declared.
func (c *Coverage) IsEmpty() bool { return !c.Message && !c.Images && len(c.Parts) == 0 }

// Unite returns what either list covers.
func (c Coverage) Unite(o Coverage) Coverage {
	parts := maps.Clone(c.Parts)
	if parts == nil {
		parts = o.Parts
	} else {
		maps.Copy(parts, o.Parts)
	}
	apart := make(map[signature.Signature]bool) // each match has the name of its keyspace
	maps.Copy(apart, c.Apart)
	maps.Copy(apart, o.Apart)
	return Coverage{Message: c.Message || o.Message, Parts: parts, Images: c.Images || o.Images, IsNear: c.IsNear || o.IsNear, Apart: apart}
}

// Covers returns what the list covers of a message: its exact signatures, whose positions are
// hashes, and its sketch if none of its text signatures is declared.
func (l *List) Covers(set *signature.Set, hashes []filter.Hash) (c Coverage) {
	l.Mu.RLock()
	defer l.Mu.RUnlock()
	if len(l.Entries) == 0 {
		return c
	}
	for i, s := range set.Signatures {
		switch {
		case !l.exact[hashes[i]]:
		case IsPart(s.Kind):
			if c.Parts == nil {
				c.Parts = make(map[signature.Signature]bool)
			}
			c.Parts[s] = true
		default:
			c.Message = true
		}
	}
	of, declared := make(map[signature.Kind]int), make(map[signature.Kind]int)
	for _, s := range OfMessage(set.Sketches) {
		of[s.Kind]++
		if len(l.covering(s, l.Keyed(s))) > 0 {
			declared[s.Kind]++
		}
	}
	all := func(k signature.Kind) bool { return of[k] > 0 && declared[k] == of[k] }
	// Spam that hides a declared text is not spared: all readings of the message must be covered.
	if !c.Message && all(signature.KindSketch) {
		c.Message, c.IsNear = true, true
	}
	c.Images = all(signature.KindImage)
	return c
}

// Declared returns, of the features of a sketch, those that a covering declared sketch has (true), and
// those that it would have if their words were its words (false).
func (l *List) Declared(asked signature.Sketch) map[uint64]bool {
	l.Mu.RLock()
	defer l.Mu.RUnlock()
	of := make(map[uint64]bool)
	for _, kept := range l.covering(asked, l.Keyed(asked)) {
		for _, f := range asked.Keys {
			key := l.keyed(f)
			if _, ok := slices.BinarySearch(kept.Keys, key); ok || kept.All || key <= kept.Keys[len(kept.Keys)-1] {
				of[f.Hash] = of[f.Hash] || ok
			}
		}
	}
	return of
}

// covering returns the declared sketches that contain at least half of the keys of asked. It
// is half of the message that is looked up and not of the declared one: a message that adds more
// text than it copies is not spared. The caller holds Mu.
func (l *List) covering(asked signature.Sketch, keys []uint64) (list []keptSketch) {
	shared := make(map[keptSketch]int)
	for _, key := range keys {
		for _, kept := range l.index[key] {
			if kept.Kind == asked.Kind {
				shared[kept]++
			}
		}
	}
	for kept, n := range shared {
		comparable := len(keys)
		if !kept.All {
			comparable, _ = slices.BinarySearch(keys, kept.Keys[len(kept.Keys)-1]+1)
		}
		if n >= minNeverKeys && 2*n >= comparable {
			list = append(list, kept)
		}
	}
	return list
}

// Keyed returns the keys of a sketch as stored: hashed, distinct, ascending. A reader of the file
// who lacks the federation key cannot find words in it.
func (l *List) Keyed(s signature.Sketch) []uint64 {
	keys := make([]uint64, 0, len(s.Keys))
	for _, f := range s.Keys {
		keys = append(keys, l.keyed(f))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (l *List) keyed(f signature.Feature) uint64 { return l.key.Hash(f.Hash) >> 1 } // room for one more than the largest

// IsEmpty reports whether nothing is declared.
func (l *List) IsEmpty() bool {
	l.Mu.RLock()
	defer l.Mu.RUnlock()
	return len(l.Entries) == 0
}

// Fits returns ErrFull if there is no room for an entry.
func (l *List) Fits(e *Entry) error {
	l.Mu.RLock()
	defer l.Mu.RUnlock()
	if n := len(l.Entries); n >= Most && l.Entries[e.Name] == nil {
		return fmt.Errorf("never-list: %w: it has %d messages, must be at most %d", layout.ErrFull, n, Most)
	}
	return nil
}
