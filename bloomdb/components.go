package bloomdb

import (
	"crypto/ed25519"
	"encoding/hex"
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// ring hashes under one federation key. It is safe for concurrent use.
type ring struct {
	keyed *signature.Keyed
	keyID [8]byte
}

func newRing(key [32]byte) *ring {
	r := &ring{keyed: signature.NewKeyed(key[:])}
	id, _ := hex.DecodeString(KeyID(key))
	r.keyID = [8]byte(id)
	return r
}

// sealer makes and opens the records of one federation key. It is safe for concurrent use.
type sealer struct {
	opt        *settings
	ring       *ring
	members    Members
	signingKey ed25519.PrivateKey // nil: records are not signed
	witness    func(Head)         // is called for every record whose time is looked at
}

// peers is where this site stands in the streams of other sites, and what each of them may
// make it hold. sitesMu is held while a record is applied, and taken before the locks of
// store and publisher.
type peers struct {
	opt    *settings
	sealer *sealer
	store  *store
	pub    *publisher

	drops      atomic.Uint64 // see Drops
	sitesMu    sync.Mutex    // guards sites and uses; held while a delta is applied
	sites      map[origin]*siteState
	uses       map[siteTarget]*siteUse
	leastParts int64 // see partsLimit
	// blockCells are those of the last block that was installed; sitesMu guards them.
	blockCells []filter.Cell
}

func newPeers(s *sealer, st *store, p *publisher) *peers {
	return &peers{
		opt: s.opt, sealer: s, store: st, pub: p,
		sites: make(map[origin]*siteState), uses: make(map[siteTarget]*siteUse), leastParts: minParts,
	}
}

// votes is this site's votes and those of the sites that are trusted by vote.
type votes struct {
	opt    *settings
	ring   *ring
	sealer *sealer
	store  *store
	own    *ownVotes
	voters *voters
}

func newVotes(s *sealer, st *store) *votes {
	return &votes{opt: s.opt, ring: s.ring, sealer: s, store: st, own: newOwnVotes(s.ring.votesKey(s.opt.Site)), voters: newVoters()}
}

// sketches makes the journal records of near-duplicates.
type sketches struct {
	opt   *settings
	ring  *ring
	store *store

	sipKeys map[signature.Kind]sipKey // of their features

	sketchesLost atomic.Int64 // the last generation whose sketch filter was full
}

func newSketches(st *store) *sketches {
	return &sketches{opt: st.opt, ring: st.ring, store: st, sipKeys: sketchSipKeys(st.ring.keyed)}
}

// fileSet is the files of one keyspace's folder that Open finds, and the damaged ones among
// them, which are set aside.
type fileSet struct {
	opt *settings

	asideMu     sync.Mutex    // guards aside and domainsLost, and saved while Open reads files
	aside       []DamagedFile // see DamagedFiles
	domainsLost bool          // counts of link domains were damaged: they begin anew
	mending     *mending      // while Repair opens the folder; else nil

	saved map[string]savedState // what is on disk, by path
}
