package bloomdb

import (
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// store is the filters under one federation key, in memory: those of this site, which only
// it changes, and the parts of other sites. Positions are hashes under the key, so that
// nothing in it can be looked up under another key. Readers take no lock but that of a mask.
type store struct {
	opt  *settings
	ring *ring

	// The shapes of new filters.
	spamShape    filter.BitsShape
	revokedShape filter.BitsShape
	countsShape  filter.CountsShape
	classShape   filter.BitsShape
	sketchShape  filter.BitsShape

	view      atomic.Pointer[view]
	viewMu    sync.Mutex // serialises changes of the view's structure
	retouchMu sync.Mutex // serialises changes of masks; taken before the journal's lock

	agedTicks   int          // how often expire saw generations that have expired and are still held
	classesLost atomic.Int64 // the last generation whose class filter was full
	measured    *measurements
}

// newStore makes an empty store.
func newStore(o *settings, r *ring, members Members) *store {
	st := &store{
		opt: o, ring: r,
		spamShape: o.spamShape(), revokedShape: o.revokedShape(), countsShape: o.countsShape(),
		classShape: o.classShape(), sketchShape: o.sketchShape(),
		measured: newMeasurements(),
	}
	st.view.Store(&view{trusted: &trustedSites{members: members}})
	return st
}
