package exchange

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

const (
	// repeatPause is the least time between two repetitions of a stale site's heartbeat.
	repeatPause = time.Minute
	// wantPause is the least time between two snapshots requested by others, and the
	// longest that a snapshot waits after another one.
	wantPause = 10 * time.Minute
)

// place records the position of a verified heartbeat. A fresh heartbeat that is before an
// earlier one, or in an older epoch than the one held here, comes from an older state
// folder: the site is stale. Its deltas are refused, since its counts would be added
// twice.
func (o *origin) place(at Position, record []byte, fresh bool) {
	if !o.proven.after(at) {
		o.proof, o.proven = bytes.Clone(record), at
	}
	switch isStale := o.proven.after(at) || o.head.Epoch > at.Epoch; {
	case isStale && fresh:
		o.stale = at
	case !isStale:
		o.stale = Position{}
	}
	if at.after(o.head) {
		o.head, o.isExhausted = at, false
		o.wake()
	}
}

// canRepeat reports whether to repeat a newer heartbeat of a stale site now. After a
// restart, this site may have none.
func (o *origin) canRepeat(now time.Time) bool {
	return o.stale != (Position{}) && o.proven.after(o.stale) && !now.Before(o.repeatAt)
}

// repeatHeartbeat repeats the newest heartbeat of a stale site in the news. The site
// verifies its own signature, and begins the epoch after it.
func (x *Exchange) repeatHeartbeat(ctx context.Context, o *origin) error {
	x.log.Warn("site runs on an older state folder and its deltas are refused; repeating its newer heartbeat, so that it begins a new epoch",
		"site", o.site, "position", o.stale.String(), "known", o.proven.String())
	x.mu.Lock()
	o.repeatAt = time.Now().Add(repeatPause)
	x.mu.Unlock()
	return x.wire.spread(ctx, o.proof)
}

// isIncomplete reports whether data of a site is missing here that its next snapshot or
// votes would supply.
func (x *Exchange) isIncomplete(o *origin, now time.Time) bool {
	trust := x.db.TrustOf(o.site)
	switch {
	case x.db.Muted(o.site) || o.isLatestRefused || o.stale != (Position{}):
		return false
	case trust == wire.TrustVote:
		return o.votesAnnounced != 0 && o.votesLooked == o.votesAnnounced && o.votes != o.votesAnnounced
	}
	return trust == wire.TrustFull && !o.isAhead() && !now.Before(o.held) && o.loading == nil &&
		(o.gaps > 0 || o.isBehind() && o.isExhausted)
}

// incompleteSites returns the sites with missing data, in random order: a heartbeat has
// room for 16 of them.
func (x *Exchange) incompleteSites() (sites []string) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for site, o := range x.origins {
		if x.isIncomplete(o, now) {
			sites = append(sites, site)
		}
	}
	rand.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	return sites
}

// isWanted reports whether another site has requested the data since its last publication,
// and the pause since then is over.
func (x *Exchange) isWanted(published, now time.Time) bool {
	asked := x.wanted.Load()
	return asked > 0 && time.Unix(0, asked).After(published) && now.Sub(published) >= min(wantPause, x.o.SnapshotInterval)
}
