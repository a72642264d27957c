package peers

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// state is where we stand in another site's stream.
type state struct {
	seq  uint64 // last delta applied, or position of the last snapshot
	gaps uint64 // deltas that were lost on the way or refused, and that no snapshot has brought
	hole uint64 // the number from which on nothing is missing

	refused bool // some of a snapshot was, whose end is still to come

	classesRefused bool // it was said that its classes can't be joined
}

// Restore sets where this site stands in a site's stream, as a snapshot has it: the number
// of the last delta, how many are missing, and the number from which on none is.
func (ps *Peers) Restore(o layout.Origin, seq, gaps, hole uint64) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	ps.sites[o] = &state{seq: seq, gaps: gaps, hole: hole}
}

// Unload forgets where this site stands in a stream, whose snapshot is damaged.
func (ps *Peers) Unload(o layout.Origin) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	delete(ps.sites, o)
}

// Cursor is the (epoch, seq) up to which a site is heard, in its latest life: the number of the
// last delta applied, or the position of a snapshot.
func (ps *Peers) Cursor(site string) (epoch, seq uint64) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	o, state := ps.latest(site)
	if state == nil {
		return 0, 0
	}
	return o.Epoch, state.seq
}

// latest is a site's latest life of which something is known; nil for none. sitesMu
// is held.
func (ps *Peers) latest(site string) (o layout.Origin, state *state) {
	for known, s := range ps.sites {
		if known.Site == site && known.Epoch >= o.Epoch {
			o, state = known, s
		}
	}
	return o, state
}

// stateOf finds where we stand in a record's life, or makes it where there is room.
// A life that another one has followed tells nothing new. The caller holds sitesMu.
func (ps *Peers) stateOf(h wire.Head) (*state, error) {
	if ps.store.Muted(h.Site) {
		return nil, fmt.Errorf("%s: %w", h, wire.ErrMuted)
	}
	if now, _ := ps.latest(h.Site); h.Epoch < now.Epoch {
		return nil, fmt.Errorf("%s: %w: epoch %d has followed", h, wire.ErrReplayed, now.Epoch)
	}
	if state := ps.sites[h.Origin()]; state != nil {
		return state, nil
	}
	if err := ps.roomForSite(h.Site); err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	return &state{}, nil
}

func (ps *Peers) roomForSite(site string) error {
	lives := 0
	for o := range ps.sites {
		if o.Site == site {
			lives++
		}
	}
	if len(ps.sites) >= maxOrigins || lives >= MaxLives {
		return fmt.Errorf("%w: %d sites are held, this one in %d lives", layout.ErrFull, len(ps.sites), lives)
	}
	return nil
}

// miss notes that something before a number is missing.
func (s *state) miss(before uint64, order Order) {
	if order == Lost {
		s.gaps += before - s.seq
	} else {
		s.gaps++ // how many of them were refused is not known here
	}
	s.hole = before
}

// Forget drops the cursors of lives of which nothing is held any more, but for the
// present ones of members that are named. Should one speak again, its stream is read from
// its begin.
func (ps *Peers) Forget() {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	held := make(map[layout.Origin]bool)
	for _, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			held[p.Origin] = true
		}
	}
	present := make(map[string]uint64)
	for o := range ps.sites {
		present[o.Site] = max(present[o.Site], o.Epoch)
	}
	for o := range ps.sites {
		if _, named := ps.sealer.Members[o.Site]; !held[o] && (!named || o.Epoch < present[o.Site]) {
			delete(ps.sites, o)
		}
	}
	ps.forgetAgedUses()
}

// Snapshots lists the other sites, with all parts of one in one file beside
// its cursor. The cursor is read before the parts: they may tell more than it
// says, never less.
func (ps *Peers) Snapshots() []folder.Pending {
	ps.sitesMu.Lock()
	sites := make(map[layout.Origin]*store.Snapshot, len(ps.sites))
	for o, s := range ps.sites {
		sites[o] = &store.Snapshot{Origin: o, Seq: s.seq, Gaps: s.gaps, Hole: s.hole}
	}
	ps.sitesMu.Unlock()
	for t, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			if s := sites[p.Origin]; s != nil {
				s.Sections = append(s.Sections, store.Section{
					Target: t, Period: int64(ps.opt.Period(t.Kind) / time.Second), Shape: p.Shape, Block: p.Part.Block,
				})
			}
		}
	}
	list := make([]folder.Pending, 0, len(sites))
	for o, s := range sites {
		list = append(list, folder.Pending{
			Path:  store.SitePath(ps.opt.Dir, o),
			State: folder.Saved{Seq: s.Seq, Gaps: s.Gaps, Sections: len(s.Sections)},
			Write: s.Writer(ps.sealer.Ring.KeyID),
		})
	}
	return list
}
