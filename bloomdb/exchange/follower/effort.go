package follower

import "time"

// A record of a few KiB can take seconds to check and join, if its site has filled its caps. All
// sites are read by one goroutine. So each site has a share of its time, or one would stop the
// exchange of all.
const (
	// effortShare is the part of one processor's time that the records of a site take on average.
	effortShare = 4
	// effortBurst is the time that they may take at once, as after an absence of this site.
	effortBurst = 10 * time.Second
	// effortTurn is the time after which the records of other sites have their turn, and news.
	effortTurn = 250 * time.Millisecond
	leastTurn  = 5 * time.Millisecond // less is no advantage
)

// turnTime returns the time that a site's turns take, of which they wait for multiples. That of a
// new site is not known.
func (o *origin) turnTime() time.Duration {
	if o.turn == 0 {
		return effortTurn
	}
	return max(o.turn, leastTurn)
}

// hadTurn notes the time of a site's turn. A costly one counts for many later ones, so that under many
// names the average cost of all turns counts, not that of the latest ones.
func (f *Follower) hadTurn(o *origin, now time.Time, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.queued, o.turn = now, max(took, o.turn-o.turn/8)
}

// spend charges a site for the time since begin.
func (f *Follower) spend(o *origin, begin time.Time) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.effort.Before(now) {
		o.effort = now
	}
	o.effort = o.effort.Add(effortShare * now.Sub(begin))
	if o.isSpent(now) && f.logLimit.Allow("effort "+o.site) {
		f.log.Warn("records of a site take much processor time, and are applied more slowly", "site", o.site)
	}
}

// isSpent reports whether the site's records must wait, because they have taken their share.
func (o *origin) isSpent(now time.Time) bool { return o.effort.Sub(now) > effortShare*effortBurst }
