package store

import (
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Store holds the filters under one federation key in memory: this site's own, which no other
// site changes, and the parts of other sites. Positions are hashes under the key, so nothing
// in it can be looked up under another key. Readers take no lock except a mask's.
type Store struct {
	Opt  *layout.Settings
	Ring *keyring.Ring

	// Shapes of new filters.
	spamShape    filter.BitsShape
	revokedShape filter.BitsShape
	countsShape  filter.CountsShape
	classShape   filter.BitsShape
	sketchShape  filter.BitsShape
	ladderShape  filter.BitsShape

	View      atomic.Pointer[View]
	viewMu    sync.Mutex // serialises changes of the view's structure
	RetouchMu sync.Mutex // serialises changes of masks; taken before the journal's lock

	expiredTicks int          // calls of Expire in a row that found expired generations
	classesLost  atomic.Int64 // the last generation whose class filter was full
	Measured     *measurements
}

// New makes an empty store.
func New(o *layout.Settings, r *keyring.Ring, members wire.Members) *Store {
	st := &Store{
		Opt: o, Ring: r,
		spamShape: o.SpamShape(), revokedShape: o.RevokedShape(), countsShape: o.CountsShape(),
		classShape: o.ClassShape(), sketchShape: o.SketchShape(), ladderShape: o.LadderShape(),
		Measured: newMeasurements(),
	}
	st.View.Store(&View{Trusted: &TrustedSites{Members: members}})
	return st
}
