// Package waitlist bounds the revocations that wait for a listing of another site. It owns their places, and neither
// the revocations, which are in the ledger, nor what they do.
//
//	Reserve -> the ledger has it -> Add -> All, at each look -> Remove
package waitlist

import (
	"slices"
	"sync"
	"time"
)

// Bounds of revocations that wait.
const (
	Time = 2 * time.Hour // longer than a site is usually behind
	Most = 10_000

	mostOfReporter = 16    // from one origin: a program that names the reporter takes no place of its own ones
	mostOfOrigin   = 7_500 // of one program or client, whose reporters may have any names
)

// List are revocations of messages that nobody had reported or listed when they were made:
// at a site that is joined to others, the listing may be on its way. A revocation acts once, if
// the listing arrives from another site within Time and its reporter still stands by it.
// It keeps no report out: the ledger does not count it. It is safe for concurrent use.
type List struct {
	mu    sync.Mutex
	words []Word
}

// Word is such a revocation.
type Word struct {
	ID               uint64 // of the revocation in the ledger; 0: it is being entered
	Reporter, Origin string
	Until            time.Time
}

// Reserve keeps a place for another revocation until Release. It returns false if there is none.
func (w *List) Reserve(reporter, origin string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	ofReporter, ofOrigin := 0, 0
	for _, word := range w.words {
		if word.Reporter == reporter && word.Origin == origin {
			ofReporter++
		}
		if word.Origin == origin && origin != "" {
			ofOrigin++
		}
	}
	if ofReporter >= mostOfReporter || ofOrigin >= mostOfOrigin || len(w.words) >= Most {
		return false
	}
	w.words = append(w.words, Word{Reporter: reporter, Origin: origin})
	return true
}

// Release ends a reservation. The caller has added the revocation before, if it waits.
func (w *List) Release(reporter, origin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.words, Word{Reporter: reporter, Origin: origin})
	w.words = slices.Delete(w.words, i, i+1)
}

// Add lets a revocation wait, and returns until when.
func (w *List) Add(id uint64, reporter, origin string, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := now.Add(Time)
	w.words = append(w.words, Word{id, reporter, origin, until})
	return until
}

// All returns those that wait.
func (w *List) All() []Word {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.words), func(word Word) bool { return word.ID == 0 })
}

// Remove ends the wait of a revocation.
func (w *List) Remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words = slices.DeleteFunc(w.words, func(word Word) bool { return word.ID == id })
}

// Load lets a revocation wait that was made before a start.
func (w *List) Load(word Word, madeAt time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.words, func(known Word) bool { return known.ID == word.ID }) {
		word.Until = madeAt.Add(Time)
		w.words = append(w.words, word)
	}
}
