package peers

import (
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Peers tracks this site's position in the streams of other sites, and what each of them can make
// it store. sitesMu is held while a record is applied, and taken before the locks of store and
// outbox.
type Peers struct {
	opt    *layout.Settings
	sealer *wire.Sealer
	store  *store.Store
	pub    *outbox.Outbox

	drops      atomic.Uint64 // see Drops
	sitesMu    sync.Mutex    // guards sites and uses; held while a delta is applied
	sites      map[layout.Origin]*state
	uses       map[siteTarget]*siteUse
	leastParts int64 // see partsLimit
	// blockCells is reused for the cells of each block; guarded by sitesMu.
	blockCells []filter.Cell
}

func New(s *wire.Sealer, st *store.Store, p *outbox.Outbox) *Peers {
	return &Peers{
		opt: s.Opt, sealer: s, store: st, pub: p,
		sites: make(map[layout.Origin]*state), uses: make(map[siteTarget]*siteUse), leastParts: MinParts,
	}
}
