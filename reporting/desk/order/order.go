// Package order keeps decisions about one message in the order in which they are taken. It owns
// locks only: those of a message are taken in ascending order, so that no two callers wait for
// each other.
package order

import (
	"slices"
	"sync"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// stripes is the number of locks of an Order.
const stripes = 4096

// Order keeps decisions about one message in the order of the ledger until they are in the
// filters, where the newest word decides. Messages that share a signature or an anchor share a
// lock; a few others do by chance. The zero value is ready.
type Order [stripes]sync.Mutex

// Lock locks a message, and returns the function that unlocks it.
func (o *Order) Lock(set signature.Set, anchors []ledger.Anchors) (unlock func()) {
	var held []int
	for _, s := range set.Signatures {
		held = append(held, (int(s.Digest[0])<<8|int(s.Digest[1]))%stripes)
	}
	for _, a := range anchors {
		for _, h := range a.Hashes {
			held = append(held, int(h%stripes))
		}
	}
	slices.Sort(held) // no two callers wait for each other
	held = slices.Compact(held)
	for _, i := range held {
		o[i].Lock()
	}
	return func() {
		for _, i := range held {
			o[i].Unlock()
		}
	}
}
