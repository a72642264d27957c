package bloomdb

import (
	"fmt"
)

// siteState is where we stand in another site's stream.
type siteState struct {
	seq  uint64 // last delta applied, or position of the last snapshot
	gaps uint64 // deltas that were lost on the way or refused, and that no snapshot has brought
	hole uint64 // the number from which on nothing is missing

	refused bool // some of a snapshot was, whose end is still to come

	classesRefused bool // it was said that its classes can't be joined
}

// Cursor is the (epoch, seq) up to which a site is heard, in its latest life: the number of the
// last delta applied, or the position of a snapshot.
func (ps *peers) Cursor(site string) (epoch, seq uint64) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	o, state := ps.latest(site)
	if state == nil {
		return 0, 0
	}
	return o.epoch, state.seq
}

// latest is a site's latest life of which something is known; nil for none. sitesMu
// is held.
func (ps *peers) latest(site string) (o origin, state *siteState) {
	for known, s := range ps.sites {
		if known.site == site && known.epoch >= o.epoch {
			o, state = known, s
		}
	}
	return o, state
}

// stateOf finds where we stand in a record's life, or makes it where there is room.
// A life that another one has followed tells nothing new. sitesMu is held.
func (ps *peers) stateOf(h Head) (*siteState, error) {
	if ps.store.Muted(h.Site) {
		return nil, fmt.Errorf("%s: %w", h, ErrMuted)
	}
	if now, _ := ps.latest(h.Site); h.Epoch < now.epoch {
		return nil, fmt.Errorf("%s: %w: epoch %d has followed", h, ErrReplayed, now.epoch)
	}
	if state := ps.sites[h.origin()]; state != nil {
		return state, nil
	}
	if err := ps.roomForSite(h.Site); err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	return &siteState{}, nil
}

func (ps *peers) roomForSite(site string) error {
	lives := 0
	for o := range ps.sites {
		if o.site == site {
			lives++
		}
	}
	if len(ps.sites) >= maxOrigins || lives >= maxLives {
		return fmt.Errorf("%w: %d sites are held, this one in %d lives", ErrFull, len(ps.sites), lives)
	}
	return nil
}

// miss notes that something before a number is missing.
func (s *siteState) miss(before uint64, order Order) {
	if order == Lost {
		s.gaps += before - s.seq
	} else {
		s.gaps++ // how many of them were refused is not known here
	}
	s.hole = before
}

// forget drops the cursors of lives of which nothing is held any more, but for the
// present ones of members that are named. Should one speak again, its stream is read from
// its begin.
func (ps *peers) forget() {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	held := make(map[origin]bool)
	for _, parts := range ps.store.view.Load().allParts() {
		for _, p := range parts {
			held[p.origin] = true
		}
	}
	present := make(map[string]uint64)
	for o := range ps.sites {
		present[o.site] = max(present[o.site], o.epoch)
	}
	for o := range ps.sites {
		if _, named := ps.sealer.members[o.site]; !held[o] && (!named || o.epoch < present[o.site]) {
			delete(ps.sites, o)
		}
	}
	ps.forgetAgedUses()
}
