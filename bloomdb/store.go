package bloomdb

import (
	"encoding/hex"
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// store is the filters under one federation key, in memory: those of this site, which only
// it changes, and the parts of other sites. Positions are hashes under the key, so that
// nothing in it can be looked up under another key. Readers take no lock but that of a mask.
type store struct {
	opt     Options
	keyed   *signature.Keyed
	keyID   [8]byte
	sipKeys map[signature.Kind]sipKey // of the features of sketches

	// The shapes of new filters.
	spamShape    filter.BitsShape
	revokedShape filter.BitsShape
	countsShape  filter.CountsShape
	classShape   filter.BitsShape
	sketchShape  filter.BitsShape

	view      atomic.Pointer[view]
	viewMu    sync.Mutex // serialises changes of the view's structure
	retouchMu sync.Mutex // serialises changes of masks; taken before the journal's lock

	classesLost  atomic.Int64 // the last generation whose class filter was full
	sketchesLost atomic.Int64 // the last generation whose sketch filter was full
}

// init makes an empty store of the zero value.
func (st *store) init(o Options) {
	st.opt, st.keyed = o, signature.NewKeyed(o.Key[:])
	id, _ := hex.DecodeString(KeyID(o.Key))
	st.keyID = [8]byte(id)
	st.sipKeys = sketchSipKeys(st.keyed)
	st.spamShape, st.revokedShape, st.countsShape = o.spamShape(), o.revokedShape(), o.countsShape()
	st.classShape, st.sketchShape = o.classShape(), o.sketchShape()
	st.view.Store(&view{trusted: &trustedSites{members: o.Members}})
}
