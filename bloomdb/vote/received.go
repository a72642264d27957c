package vote

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// siteVotes are the votes of one site, as it published them. They do not change.
type siteVotes struct {
	Head   wire.Head
	gen    int64 // first generation of its filter
	key    keyring.Sip
	filter *generalized.Filter
}

// Has reports whether the site votes for a message by a key.
func (v *siteVotes) Has(h filter.Hash) bool {
	lanes := keyring.Stretch(Seed(v.key, h))
	if !v.filter.Bit(wire.VotesShape.Position(lanes, wire.VotesShape.K0)) {
		return false // most keys end here; loses two in a million of those that Has would find
	}
	var buf [16]uint64
	return v.filter.Has(wire.VotesShape.Positions(lanes, buf[:0]))
}

// received are the votes of the sites that are trusted by vote. Readers take no lock.
type received struct {
	changing sync.Mutex // serialises changes
	list     atomic.Pointer[[]*siteVotes]
}

func newReceived() *received {
	v := new(received)
	v.list.Store(new([]*siteVotes))
	return v
}

// All returns the votes of each site, by its name.
func (v *received) All() []*siteVotes { return *v.list.Load() }

// of returns the votes of a site; nil if there are none.
func (v *received) of(site string) *siteVotes {
	for _, held := range v.All() {
		if held.Head.Site == site {
			return held
		}
	}
	return nil
}

// put replaces the votes of a site. The caller holds changing.
func (v *received) put(site *siteVotes) {
	all := append(v.without(site.Head.Site), site)
	slices.SortFunc(all, bySite)
	v.list.Store(&all)
}

func bySite(a, b *siteVotes) int { return cmp.Compare(a.Head.Site, b.Head.Site) }

// Drop removes the votes of a site from memory. The site must be muted, so that none follows.
func (v *received) Drop(site string) {
	v.changing.Lock()
	defer v.changing.Unlock()
	all := v.without(site)
	v.list.Store(&all)
}

func (v *received) without(site string) []*siteVotes {
	return slices.DeleteFunc(slices.Clone(v.All()), func(v *siteVotes) bool { return v.Head.Site == site })
}

// Accept verifies and stores a record of votes from a site whose Trust is TrustVote. It replaces the previous
// record; an older record is ignored.
func (vs *Register) Accept(data []byte) error {
	v, err := vs.readVotes(data)
	if err != nil || v == nil {
		return err
	}
	if err := vs.sealer.CheckClock(v.Head); err != nil {
		return err
	}
	vs.Received.changing.Lock()
	defer vs.Received.changing.Unlock()
	if vs.store.Muted(v.Head.Site) {
		return fmt.Errorf("%s: %w", v.Head, wire.ErrMuted)
	}
	if held := vs.Received.of(v.Head.Site); held != nil {
		switch {
		case v.Head.Epoch < held.Head.Epoch:
			return fmt.Errorf("%s: %w: a newer one, %d, is known", v.Head, wire.ErrReplayed, held.Head.Epoch)
		case v.Head.Epoch == held.Head.Epoch && v.Head.Seq <= held.Head.Seq:
			return nil
		}
	}
	vs.Received.put(v)
	path := store.VotesPath(vs.opt.Dir, v.Head.Site)
	if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(vs.opt.Dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readVotes verifies and decodes a record. It does not compare it with the previous one, and
// returns nil for an own record.
func (vs *Register) readVotes(data []byte) (*siteVotes, error) {
	h, body, err := vs.sealer.OpenRecord(data, wire.RecordVotes)
	if err != nil || h.Site == vs.opt.Site {
		return nil, err
	}
	if t := vs.sealer.TrustOf(h.Site); t != wire.TrustVote {
		return nil, fmt.Errorf("%s: votes rejected: the site's trust is %s", h, t)
	}
	v, err := wire.DecodeVotes(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	if here := int64(vs.opt.Reports.Period / time.Second); v.Period != here {
		return nil, fmt.Errorf("%s: %w: period there %d s, here %d s", h, layout.ErrParameters, v.Period, here)
	}
	if made := vs.opt.Generation(layout.SpamFilter, h.Made); v.Gen >= made || v.Gen < 0 {
		return nil, fmt.Errorf("%s: its votes begin with generation %d, but it was made in %d", h, v.Gen, made)
	}
	return &siteVotes{h, v.Gen, vs.ring.VotesKey(h.Site), v.Filter}, nil
}

// Stale reports whether a site's votes have expired because the site has not published since.
func (v *siteVotes) Stale(now int64) bool { return now-v.gen > votesCounted }

// Trail is the vote of one site for a message, by one signature.
type Trail struct {
	Site  string
	Since time.Time // the filter contains its reports since then
	Made  time.Time // when the site published it
	Stale bool      // expired: it does not count
}

// Trails returns the votes of all sites by a key. Muted sites have none.
func (vs *Register) Trails(v *store.View, h filter.Hash) []Trail {
	var trails []Trail
	now := vs.opt.Generation(layout.SpamFilter, vs.opt.Now())
	for _, held := range vs.Received.All() {
		if held.Has(h) && !v.Trusted.Mutes(held.Head.Site) {
			since := vs.opt.Start(layout.Target{Kind: layout.SpamFilter, Gen: held.gen})
			trails = append(trails, Trail{held.Head.Site, since, held.Head.Made, held.Stale(now)})
		}
	}
	return trails
}

// Load reads the records of other sites in the folder. A record that would be rejected now is
// removed: the site's trust or key may have changed. A damaged one is set aside; the site
// publishes its votes again.
func (vs *Register) Load(entries []os.DirEntry, contain func(error) error) error {
	for _, e := range entries {
		path := filepath.Join(vs.opt.Dir, e.Name())
		if !store.IsVotesPath(e.Name()) {
			continue
		}
		if vs.store.IsDropped(e.Name()) { // a crash prevented the removal of its file
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("votes: %w", err)
			}
			continue
		}
		data, err := folder.ReadBounded(path, wire.MaxDelta)
		if err == nil {
			err = vs.sealer.Prove(path, data)
		}
		if err != nil {
			if err := contain(err); err != nil {
				return err
			}
			continue
		}
		v, err := vs.readVotes(data)
		switch {
		case err != nil || v == nil:
			vs.opt.Log.Warn("rejected votes of another site are removed", "path", path, "error", err)
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("votes: %w", err)
			}
		case path != store.VotesPath(vs.opt.Dir, v.Head.Site):
			if err := contain(folder.Damaged(path, 0, fmt.Errorf("it belongs to site %s", v.Head.Site))); err != nil {
				return err
			}
		default:
			vs.Received.put(v)
		}
	}
	return nil
}

// CheckVotes verifies a file of votes as Load would.
func (vs *Register) CheckVotes(name string) error {
	path := filepath.Join(vs.opt.Dir, name)
	if gen, ok := ParseOwnVotesPath(name); ok {
		_, _, err := wire.ReadOwnVotes(path, vs.ring.KeyID, gen, int64(vs.opt.Reports.Period/time.Second))
		return err
	}
	if !store.IsVotesPath(name) {
		return nil
	}
	data, err := folder.ReadBounded(path, wire.MaxDelta)
	if err == nil {
		_, err = vs.readVotes(data)
	}
	if errors.Is(err, layout.ErrNewer) {
		return folder.Damaged(path, 0, err)
	}
	return err
}
