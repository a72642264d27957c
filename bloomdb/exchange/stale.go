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
	// wantPause is the least time between two snapshots that others have asked for, and
	// the longest that a snapshot waits after another one.
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
		o.head, o.dry = at, false
		o.alive()
	}
}

// tells reports whether a newer heartbeat of a stale site is to be repeated now. After a
// restart, this site may have none.
func (o *origin) tells(now time.Time) bool {
	return o.stale != (Position{}) && o.proven.after(o.stale) && !now.Before(o.tell)
}

// tellPast repeats the newest heartbeat of a stale site in the news. The site verifies
// its own signature, and begins the epoch after.
func (x *Exchange) tellPast(ctx context.Context, o *origin) error {
	x.log.Warn("site runs on an older state folder, its deltas are refused; its newer heartbeat is repeated, so that it begins a new epoch",
		"site", o.site, "position", o.stale.String(), "known", o.proven.String())
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

// missed lists the sites of which something is missing, in random order: a heartbeat has
// room for 16 of them.
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

// isWanted reports whether another site has asked, since the last publication, for what
// was published then, and the pause since is over.
func (x *Exchange) isWanted(published, now time.Time) bool {
	asked := x.wanted.Load()
	return asked > 0 && time.Unix(0, asked).After(published) && now.Sub(published) >= min(wantPause, x.o.SnapshotInterval)
}
