package vote

import (
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Register holds this site's votes, and those of the sites that are trusted by vote.
type Register struct {
	opt      *layout.Settings
	ring     *keyring.Ring
	sealer   *wire.Sealer
	store    *store.Store
	Own      *Own
	Received *received
}

func New(s *wire.Sealer, st *store.Store) *Register {
	return &Register{opt: s.Opt, ring: s.Ring, sealer: s, store: st, Own: newOwn(s.Ring.VotesKey(s.Opt.Site)), Received: newReceived()}
}
