package exchange

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

const (
	// tellPause is the least time between two repetitions of a stale site's heartbeat.
	tellPause = time.Minute
	// wantPause is the least time between two snapshots that others have asked for.
	wantPause = 10 * time.Minute
)

// place notes where a site says that it stands. One that stands before what it has said
// earlier, or in an earlier life than we hold, goes on with an older folder: we take
// nothing of that, or its counts would be added twice. A heartbeat that is not fresh says
// nothing of now.
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
		o.head, o.dry = at, false
	}
}

// tells reports whether the site is to be told of what it has said. Only what is beyond
// its word now does: after a restart, we may have no such record.
func (o *origin) tells(now time.Time) bool {
	return o.stale != (Position{}) && o.proven.after(o.stale) && !now.Before(o.tell)
}

// tellPast repeats what a stale site has said, which has signed it. It learns from it
// that we hold a later life, and begins the next one.
func (x *Exchange) tellPast(ctx context.Context, o *origin) error {
	x.log.Warn("site goes on from an older state folder: told to begin a new life",
		"site", o.site, "stands at", o.stale.String(), "known", o.proven.String())
	x.mu.Lock()
	o.tell = time.Now().Add(tellPause)
	x.mu.Unlock()
	return x.wire.spread(ctx, o.proof)
}

// misses reports whether something of a site is missing here that its next snapshot or
// votes would bring.
func (x *Exchange) misses(o *origin, now time.Time) bool {
	trust := x.db.TrustOf(o.site)
	switch {
	case x.db.Muted(o.site) || o.refuses || o.stale != (Position{}):
		return false
	case trust == bloomdb.TrustVote:
		return o.votesSaid != 0 && o.votesLooked == o.votesSaid && o.votes != o.votesSaid
	}
	return trust == bloomdb.TrustFull && !o.ahead() && !now.Before(o.held) && o.loading == nil &&
		(o.gaps > 0 || o.behind() && o.dry)
}

// missed lists the sites of which something is missing, in an order of chance: a
// heartbeat has room for a few of them.
func (x *Exchange) missed() (sites []string) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for site, o := range x.origins {
		if x.misses(o, now) {
			sites = append(sites, site)
		}
	}
	rand.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	return sites
}

// isWanted reports whether another site has asked for what was last published at a
// time, and that was long enough ago.
func (x *Exchange) isWanted(published, now time.Time) bool {
	asked := x.wanted.Load()
	return asked > 0 && time.Unix(0, asked).After(published) && now.Sub(published) >= min(wantPause, x.o.SnapshotInterval)
}
