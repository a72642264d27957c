// Package guesses bounds the wrong tokens that an address may send. It has one lock, which is held
// for a look into a table.
package guesses

import (
	"sync"
	"time"
)

// Bounds of wrong tokens.
const (
	Most         = 10          // of one address within Period
	Period       = time.Minute // after which the address may go on
	maxAddresses = 1024        // one more replaces the oldest
)

// Guesses counts the wrong tokens of addresses. The zero value is ready. It is safe for
// concurrent use.
type Guesses struct {
	mu sync.Mutex
	of map[string]guess
}

type guess struct {
	n     int
	since time.Time // of the first one
}

// Allow reports whether an address may send a token.
func (g *Guesses) Allow(from string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.of[from]
	return seen.n < Most || time.Since(seen.since) >= Period
}

// Add counts a wrong token.
func (g *Guesses) Add(from string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen, known := g.of[from]
	if time.Since(seen.since) >= Period {
		seen = guess{since: time.Now()}
	}
	seen.n++
	if g.of == nil {
		g.of = make(map[string]guess)
	}
	if !known && len(g.of) >= maxAddresses {
		delete(g.of, g.oldest())
	}
	g.of[from] = seen
}

// oldest returns the address whose first wrong token is the longest ago. The caller holds mu.
func (g *Guesses) oldest() (oldest string) {
	for from, seen := range g.of {
		if oldest == "" || seen.since.Before(g.of[oldest].since) {
			oldest = from
		}
	}
	return oldest
}
