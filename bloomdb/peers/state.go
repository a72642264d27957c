package peers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// state is this site's position in another site's stream.
type state struct {
	seq  uint64 // number of the last delta applied, or position of the last snapshot
	gaps uint64 // deltas that were lost or rejected, and that no snapshot has supplied
	hole uint64 // the number from which on nothing is missing

	united int // epochs that were joined with this one since the start

	snapshot wire.Head // of the manifest of the current snapshot
	refused  bool      // a part of it was rejected
	// The generations of which it has not all sketches, and its last section.
	incomplete []int64
	last       layout.Target

	classesRefused bool // that its classes cannot be joined was logged
	countsRefused  bool // the same of its counts

	// ignored has, by kind, the newest generation that was left out because it had expired.
	ignored map[layout.Kind]int64
}

// ignore records that a section was left out because its generation had expired.
func (s *state) ignore(t layout.Target) {
	if s.ignored == nil {
		s.ignored = make(map[layout.Kind]int64)
	}
	s.ignored[t.Kind] = max(s.ignored[t.Kind], t.Gen)
}

// saved returns the position for the site's file. After a restart, the site is read again if reports
// were left out: a later correction of the clock would not be noticed.
func (s *state) saved() uint64 {
	for kind := range s.ignored {
		if !kind.Counts() {
			return 0
		}
	}
	return s.seq
}

// Rewind makes the exchange read a site again from the beginning if a generation that was left out has
// not expired: this site's clock was ahead. Joining the rest again changes nothing.
func (ps *Peers) Rewind() {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	for o, s := range ps.sites {
		for kind, gen := range s.ignored {
			if !ps.opt.Expired(layout.Target{Kind: kind, Gen: gen}) {
				ps.opt.Log.Warn("the clock was ahead, so that data of another site seemed to have expired: the site is read again", "site", o.Site)
				s.seq, s.ignored, s.snapshot = 0, nil, wire.Head{} // one that is being read lacks that generation
				ps.drops.Add(1)
				break
			}
		}
	}
}

// Restore sets the position in a site's stream, as read from a snapshot: the last delta, the number
// of missing ones, and the number from which none is missing.
func (ps *Peers) Restore(o layout.Origin, seq, gaps, hole uint64) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	ps.sites[o] = &state{seq: seq, gaps: gaps, hole: hole}
}

// Unload removes the position in a stream, because its snapshot is damaged.
func (ps *Peers) Unload(o layout.Origin) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	delete(ps.sites, o)
}

// Cursor returns the (epoch, seq) up to which the records of a site are applied, in its latest
// epoch: the number of the last delta, or the position of a snapshot.
func (ps *Peers) Cursor(site string) (epoch, seq uint64) {
	ps.sitesMu.Lock()
	defer ps.sitesMu.Unlock()
	o, state := ps.latest(site)
	if state == nil {
		return 0, 0
	}
	return o.Epoch, state.seq
}

// latest returns the latest known epoch of a site; nil if there is none. The caller holds sitesMu.
func (ps *Peers) latest(site string) (o layout.Origin, state *state) {
	for known, s := range ps.sites {
		if known.Site == site && known.Epoch >= o.Epoch {
			o, state = known, s
		}
	}
	return o, state
}

// stateOf returns the position in a record's epoch, and creates it if there is room. It rejects a
// stale epoch. The caller holds sitesMu.
func (ps *Peers) stateOf(h wire.Head) (*state, error) {
	if ps.store.Muted(h.Site) {
		return nil, fmt.Errorf("%s: %w", h, wire.ErrMuted)
	}
	if now, _ := ps.latest(h.Site); h.Epoch < now.Epoch {
		return nil, fmt.Errorf("%s: %w: a newer one, %d, is known", h, wire.ErrReplayed, now.Epoch)
	}
	if state := ps.sites[h.Origin()]; state != nil {
		return state, nil
	}
	if err := ps.roomForSite(h.Site); err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	return &state{}, nil
}

// roomForSite makes room for a further epoch of a site. Without any it rejects it. A named member has room
// for its own, whatever is stored of sites that were trusted before members were named.
func (ps *Peers) roomForSite(site string) error {
	var epochs []layout.Origin
	for o := range ps.sites {
		if o.Site == site {
			epochs = append(epochs, o)
		}
	}
	if len(epochs) >= maxEpochs {
		slices.SortFunc(epochs, func(a, b layout.Origin) int { return cmp.Compare(a.Epoch, b.Epoch) })
		return ps.unite(epochs[1], epochs[0])
	}
	if _, isNamed := ps.sealer.Members[site]; len(ps.sites) >= maxOrigins && !isNamed {
		return fmt.Errorf("%w: %d epochs of other sites are stored", layout.ErrFull, len(ps.sites))
	}
	return nil
}

// unite moves the reports of an ended epoch into the oldest one, which therefore takes as long as these
// reports, however many epochs a site begins. The counts of both are lost: later ones include them, unless the
// site has lost its folder.
func (ps *Peers) unite(from, oldest layout.Origin) error {
	if err := ps.store.MoveBits(from, oldest); err != nil {
		return fmt.Errorf("join epoch %d of %s with epoch %d: %w", from.Epoch, from.Site, oldest.Epoch, err)
	}
	delete(ps.sites, from)
	ps.sites[oldest].united++
	for name, use := range ps.uses {
		if name.site == from.Site {
			use.overlap, use.measured = 0, 0
		}
	}
	ps.store.Measured.ForgetSite(from.Site)
	return nil
}

// miss records a gap before a number.
func (s *state) miss(before uint64, order Order) {
	if order == Lost {
		s.gaps += before - s.seq
	} else {
		s.gaps++ // at least one; the exact number is unknown
	}
	s.hole = before
}

// Forget removes the positions of epochs without data, except the current ones of named members.
// If such a site publishes again, its stream is read from the beginning.
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
	ps.forgetExpiredUses()
}

// Snapshots returns the other sites, with all parts of one and its position in one file. The
// position is read before the parts: they may be newer than it, never older.
func (ps *Peers) Snapshots() []folder.Pending {
	ps.sitesMu.Lock()
	sites, united := make(map[layout.Origin]*snapshot.File, len(ps.sites)), make(map[layout.Origin]int)
	for o, s := range ps.sites {
		sites[o], united[o] = &snapshot.File{Origin: o, Seq: s.saved(), Gaps: s.gaps, Hole: s.hole}, s.united
	}
	v := ps.store.View.Load() // later its epochs may be united
	ps.sitesMu.Unlock()
	for t, parts := range v.AllParts() {
		for _, p := range parts {
			if s := sites[p.Origin]; s != nil {
				s.Sections = append(s.Sections, snapshot.Section{
					Target: t, Period: int64(ps.opt.Period(t.Kind) / time.Second), Shape: p.Shape, Block: p.Part.Block, Next: p.Part.Next,
				})
			}
		}
	}
	list := make([]folder.Pending, 0, len(sites))
	for o, s := range sites {
		list = append(list, folder.Pending{
			Path:  snapshot.SitePath(ps.opt.Dir, o),
			State: folder.Saved{Seq: s.Seq, Gaps: s.Gaps, Sections: len(s.Sections), United: united[o]},
			Write: s.Writer(ps.sealer.Ring.KeyID),
		})
	}
	return list
}
