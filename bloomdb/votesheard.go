package bloomdb

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// voter is a site that is heard by its votes. It does not change.
type voter struct {
	head   Head
	gen    int64 // with which its filter begins
	key    sipKey
	filter *filter.Generalized
}

// has says whether the site votes for a message with a key.
func (v *voter) has(h filter.Hash) bool {
	lanes := stretch(voteSeed(v.key, h))
	if !v.filter.Bit(votesShape.Position(lanes, votesShape.K0)) {
		return false // most of them; two in a million of those that Has would find
	}
	var buf [16]uint64
	return v.filter.Has(votesShape.Positions(lanes, buf[:0]))
}

// voters are the sites that are heard by their votes. Readers take no lock.
type voters struct {
	changing sync.Mutex // serialises changes
	list     atomic.Pointer[[]*voter]
}

func newVoters() *voters {
	v := new(voters)
	v.list.Store(new([]*voter))
	return v
}

// all lists them by name.
func (v *voters) all() []*voter { return *v.list.Load() }

// of returns what is held of a site; nil for nothing.
func (v *voters) of(site string) *voter {
	for _, voter := range v.all() {
		if voter.head.Site == site {
			return voter
		}
	}
	return nil
}

// put replaces what is held of a site. The caller holds changing.
func (v *voters) put(voter *voter) {
	all := append(v.without(voter.head.Site), voter)
	slices.SortFunc(all, byVoter)
	v.list.Store(&all)
}

func byVoter(a, b *voter) int { return cmp.Compare(a.head.Site, b.head.Site) }

// drop forgets a site, in memory. The site is muted, so that no votes of it follow.
func (v *voters) drop(site string) {
	v.changing.Lock()
	defer v.changing.Unlock()
	all := v.without(site)
	v.list.Store(&all)
}

func (v *voters) without(site string) []*voter {
	return slices.DeleteFunc(slices.Clone(v.all()), func(v *voter) bool { return v.head.Site == site })
}

// HearVotes takes another site's record of votes, of a site whose Trust is TrustVote, in the
// place of the one before, which it keeps when this one is older.
func (vs *votes) HearVotes(data []byte) error {
	v, err := vs.readVotes(data)
	if err != nil || v == nil {
		return err
	}
	if err := vs.sealer.checkClock(v.head); err != nil {
		return err
	}
	vs.voters.changing.Lock()
	defer vs.voters.changing.Unlock()
	if vs.store.Muted(v.head.Site) {
		return fmt.Errorf("%s: %w", v.head, ErrMuted)
	}
	if held := vs.voters.of(v.head.Site); held != nil {
		switch {
		case v.head.Epoch < held.head.Epoch:
			return fmt.Errorf("%s: %w: epoch %d has followed", v.head, ErrReplayed, held.head.Epoch)
		case v.head.Epoch == held.head.Epoch && v.head.Seq <= held.head.Seq:
			return nil
		}
	}
	vs.voters.put(v)
	path := votesPath(vs.opt.Dir, v.head.Site)
	if err := renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(vs.opt.Dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readVotes checks a record, all but whether it is newer than the one before. It
// returns nil for an own one.
func (vs *votes) readVotes(data []byte) (*voter, error) {
	h, body, err := vs.sealer.openRecord(data, RecordVotes)
	if err != nil || h.Site == vs.opt.Site {
		return nil, err
	}
	if t := vs.sealer.TrustOf(h.Site); t != TrustVote {
		return nil, fmt.Errorf("%s: votes are not heard of this site: its trust is %s", h, t)
	}
	v, err := decodeVotes(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h, err)
	}
	if here := int64(vs.opt.Reports.Period / time.Second); v.period != here {
		return nil, fmt.Errorf("%s: %w: period there %d s, here %d s", h, ErrParameters, v.period, here)
	}
	if made := vs.opt.generation(spamFilter, h.Made); v.gen >= made || v.gen < 0 {
		return nil, fmt.Errorf("%s: its votes begin with generation %d, it was made in %d", h, v.gen, made)
	}
	return &voter{h, v.gen, vs.ring.votesKey(h.Site), v.filter}, nil
}

// stale says that a site's votes are of long ago in a generation: it has been silent.
func (v *voter) stale(now int64) bool { return now-v.gen > votesHeard }

// votes returns the sites that vote for a message, and the index in voteKeys of the best of
// its signatures that one of them has.
func (q *question) votes() (sites []string, best int) {
	best = votesPerMessage
	voters := q.ks.votes.voters.all()
	if len(voters) == 0 {
		return nil, best
	}
	keys := make([]filter.Hash, 0, votesPerMessage)
	for _, i := range voteKeys(q.set.Signatures) {
		keys = append(keys, q.hashes()[i])
	}
	now := q.ks.opt.generation(spamFilter, q.ks.opt.Now())
	for _, v := range voters {
		if i := slices.IndexFunc(keys, v.has); i >= 0 && !v.stale(now) && !q.view.trusted.mutes(v.head.Site) {
			sites, best = append(sites, v.head.Site), min(best, i)
		}
	}
	return sites, best
}

// VoteTrail is one site's vote for a message by a signature.
type VoteTrail struct {
	Site  string
	Since time.Time // its reports from then on are in the filter
	Made  time.Time // when the site published it
	Stale bool      // too long ago to count
}

// voteTrails says which sites vote by a key, but not those that are muted.
func (vs *votes) voteTrails(v *view, h filter.Hash) []VoteTrail {
	var trails []VoteTrail
	now := vs.opt.generation(spamFilter, vs.opt.Now())
	for _, voter := range vs.voters.all() {
		if voter.has(h) && !v.trusted.mutes(voter.head.Site) {
			since := vs.opt.start(target{spamFilter, voter.gen})
			trails = append(trails, VoteTrail{voter.head.Site, since, voter.head.Made, voter.stale(now)})
		}
	}
	return trails
}

func votesPath(dir, site string) string { return filepath.Join(dir, "site-"+site+".votes") }

func isVotesPath(name string) bool {
	return strings.HasPrefix(name, "site-") && strings.HasSuffix(name, ".votes")
}

// load takes the records of other sites that the folder has. One that would not
// be heard is removed: the trust in its site or its key may have changed. A damaged one
// is set aside; the site publishes its votes again.
func (vs *votes) load(entries []os.DirEntry, contain func(error) error) error {
	for _, e := range entries {
		path := filepath.Join(vs.opt.Dir, e.Name())
		if !isVotesPath(e.Name()) {
			continue
		}
		if vs.store.isDropped(e.Name()) { // a crash kept its file from being removed
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("votes: %w", err)
			}
			continue
		}
		data, err := readBounded(path, MaxDelta)
		if err == nil {
			err = vs.sealer.prove(path, data)
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
			vs.opt.Log.Warn("votes of another site are forgotten", "path", path, "error", err)
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("votes: %w", err)
			}
		case path != votesPath(vs.opt.Dir, v.head.Site):
			if err := contain(damaged(path, 0, fmt.Errorf("it is of site %s", v.head.Site))); err != nil {
				return err
			}
		default:
			vs.voters.put(v)
		}
	}
	return nil
}

// prove returns an error unless a file's record is as a member of the federation made it:
// a *DamageError, or one that wraps ErrNewer.
func (s *sealer) prove(path string, data []byte) error {
	if !s.isAuthentic(data) {
		return damaged(path, 0, errNotAuthentic)
	}
	r := &recordReader{b: data}
	_, _, err := decodeHead(r)
	if err == nil {
		_, _, err = s.openTail(data, len(data)-len(r.b))
	}
	if err != nil {
		return damaged(path, 0, err)
	}
	return nil
}

// checkVotes reads a file of votes as Open would.
func (vs *votes) checkVotes(name string) error {
	path := filepath.Join(vs.opt.Dir, name)
	if gen, ok := parseOwnVotesPath(name); ok {
		_, _, err := readOwnVotes(path, vs.ring.keyID, gen, int64(vs.opt.Reports.Period/time.Second))
		return err
	}
	if !isVotesPath(name) {
		return nil
	}
	data, err := readBounded(path, MaxDelta)
	if err == nil {
		_, err = vs.readVotes(data)
	}
	if errors.Is(err, ErrNewer) {
		return damaged(path, 0, err)
	}
	return err
}
