package follower

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// repeatPause is the least time between two repetitions of a stale site's heartbeat.
const repeatPause = time.Minute

// place records the position of a verified heartbeat. A fresh heartbeat that is before an
// earlier one, or before what was held here at the start, comes from an older state
// folder: the site is stale. Its deltas are refused, since its counts would be added
// twice, or their numbers are used. The stored heartbeat may be some seconds older than
// what was held at the start, so only a live one is compared with that.
func (o *origin) place(at streams.Position, record []byte, fresh, live bool) {
	if !o.proven.After(at) {
		o.proof, o.proven = bytes.Clone(record), at
	}
	isComparable := live || o.proof != nil || o.head.Epoch > at.Epoch
	switch isStale := o.proven.After(at) || o.head.Epoch > at.Epoch; {
	case isStale && fresh && isComparable:
		if o.proof == nil && at != o.stale {
			o.missReused(at)
		}
		o.stale = at
	case !isStale:
		o.missReused(o.stale)
		o.stale = streams.Position{}
	}
	if at.After(o.head) {
		o.head, o.isExhausted = at, false
		o.wake()
	}
}

// takeFloor records the first epoch after a drop, also by the last heartbeat before it: the site may be away.
func (o *origin) takeFloor(epoch uint64, fresh bool) {
	if o.isDropped || fresh && epoch < o.floor {
		o.isDropped, o.floor = false, epoch
	}
}

// checkFloor refuses an epoch that was dropped here.
func (o *origin) checkFloor(epoch uint64) error {
	if epoch < o.floor {
		return fmt.Errorf("epoch %d: %w: the site was dropped, and %d is its first one since", epoch, wire.ErrReplayed, o.floor)
	}
	return nil
}

// missReused records that deltas of a stale site up to a position are missing here: their numbers were
// used before, in the same epoch. Its snapshots supply them.
func (o *origin) missReused(at streams.Position) {
	if at.Seq > 0 && at.Epoch == o.at.Epoch {
		o.gaps, o.isLatestRefused = max(1, o.gaps), false
	}
}

// canRepeat reports whether to repeat a newer heartbeat of a stale site now. After a
// restart, this site may have none.
func (o *origin) canRepeat(now time.Time) bool {
	return o.stale != (streams.Position{}) && o.proof != nil && o.proven.After(o.stale) && !now.Before(o.repeatAt)
}

// repeatHeartbeat repeats the newest heartbeat of a stale site in the news. The site
// verifies its own signature, and begins the epoch after it.
func (f *Follower) repeatHeartbeat(ctx context.Context, o *origin) error {
	f.log.Warn("site runs on an older state folder and its deltas are refused; repeating its newer heartbeat, so that it begins a new epoch",
		"site", o.site, "position", o.stale.String(), "known", o.proven.String())
	f.mu.Lock()
	o.repeatAt = time.Now().Add(repeatPause)
	f.mu.Unlock()
	return f.streams.Spread(ctx, o.proof)
}

// isIncomplete reports whether data of a site is missing here that its next snapshot or
// votes would supply.
func (f *Follower) isIncomplete(o *origin, now time.Time) bool {
	trust := f.db.TrustOf(o.site)
	switch {
	case f.db.Muted(o.site) || o.isLatestRefused || o.stale != (streams.Position{}) && (o.proof != nil || o.stale.Epoch != o.at.Epoch):
		return false
	case trust == wire.TrustVote:
		return o.votesAnnounced != 0 && o.votesLooked == o.votesAnnounced && o.votes != o.votesAnnounced
	}
	return trust == wire.TrustFull && !o.isAhead() && o.loading == nil &&
		(o.gaps > 0 || o.isStuck(now))
}

// Incomplete returns the sites with missing data, in random order: a heartbeat has
// room for 16 of them.
func (f *Follower) Incomplete() (sites []string) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for site, o := range f.origins {
		if f.isIncomplete(o, now) {
			sites = append(sites, site)
		}
	}
	rand.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	return sites
}

// WantedAt returns when another site last requested this site's snapshot and votes; zero:
// never. It has a monotonic reading: the clock may have been ahead when they were published.
func (f *Follower) WantedAt() time.Time {
	if at := f.wanted.Load(); at != nil {
		return *at
	}
	return time.Time{}
}
