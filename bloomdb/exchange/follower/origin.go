package follower

import (
	"context"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

const (
	// maxSkew is the permitted deviation of another site's clock.
	maxSkew = time.Hour
	// maxJunkPause is the longest pause before a stream that ends with foreign entries is
	// read again, unless its site publishes.
	maxJunkPause = time.Hour
	// silentFor is the silence after which a site makes room for another one.
	silentFor = time.Hour

	// manyForeign is the number of foreign entries in a row after which a snapshot is wanted as well: they
	// may be as many as Redis has room for, and take hours.
	manyForeign = 10_000

	// holdPause is how long a site is paused if its next record cannot be applied now.
	holdPause = 30 * time.Second
)

// origin is the follower's state for one other site.
type origin struct {
	site  string
	since time.Time        // when its first news arrived
	at    streams.Position // the last delta consumed: applied, or written by the site but refused
	head  streams.Position // the last delta that the site claims to have published

	// read is the id of the last foreign entry that was skipped. It is not a cursor: at the
	// end of the stream, reading restarts once from at (hasRestarted), because the stream
	// may have been replaced. A stream that ended with foreign entries is read again from
	// the time rest on. The pause doubles each time; a heartbeat or delta of the site ends
	// it.
	read         streams.Position
	hasRestarted bool
	foreign      int // how many were skipped in a row
	pause        time.Duration
	rest         time.Time

	// claim is an unproven end of the stream, until it was checked.
	claim streams.Position
	// isExhausted means that the stream ends before head, so that only a snapshot, or a
	// longer stream, helps.
	isExhausted bool
	// gap is the position before which deltas are missing and a snapshot is to be checked.
	// lost is the last one that no snapshot filled.
	gap, lost streams.Position
	// snapshot is the position that the site announces for its snapshot, looked that of the
	// last one checked, took that of the last one read completely.
	snapshot, looked, took streams.Position
	loading                *loading      // the snapshot being read; nil: none
	rested                 time.Time     // when the next one may be read
	effort                 time.Time     // when the time that its records took has been made up for
	turn                   time.Duration // that its turns take, about; 0: not known
	queued                 time.Time     // since when it has had work, or its last turn

	// Stamps of votes: those announced by the site, those last checked, and those held.
	votesAnnounced, votesLooked, votes uint64
	votesRead                          time.Time // when they were last read

	// proof is the verified heartbeat with the largest position, proven; it is nil while that is
	// the position of what was held here at the start. stale is the
	// position of a later heartbeat with a smaller position; zero: the site is not stale.
	// proof is repeated in the news from repeatAt on.
	proof           []byte
	proven          streams.Position
	stale           streams.Position
	repeatAt        time.Time
	isLatestRefused bool // the latest announced record was refused: requesting it again is useless

	// isDropped means that the site was dropped, and has sent no heartbeat since. floor is the epoch of
	// the first one: records of earlier epochs, which anyone can replay, are refused. latest is the time of
	// the last heartbeat that was not from the future: only one at that time or after it sets the floor.
	isDropped bool
	floor     uint64
	latest    time.Time

	beat time.Time // time of its last heartbeat, by its own clock
	skew time.Duration
	held time.Time // no delta of it is read before this time

	heard   time.Time // when its last news arrived
	waiting time.Time // since when data has been waiting to be applied; zero: none waits
	gaps    int64     // gaps that no snapshot has filled
}

// isAhead reports whether the site's clock is too far ahead to accept its records.
func (o *origin) isAhead() bool { return o.skew > maxSkew }

// isBehind reports whether the site has published deltas that were not consumed. An epoch
// without deltas has none.
func (o *origin) isBehind() bool { return o.head.Seq > 0 && o.head.After(o.at) }

// hasUnread reports whether the stream has, or may have, entries to be read.
func (o *origin) hasUnread() bool { return o.isBehind() && !o.isExhausted || o.claim.After(o.from()) }

// from returns the position after which the stream is read.
func (o *origin) from() streams.Position { return streams.Later(o.at, o.read) }

// atEnd records that the stream has no more entries, whatever was claimed.
func (o *origin) atEnd(now time.Time) {
	o.claim, o.foreign = streams.Position{}, 0
	if now.Before(o.rest) { // an unproven claim of further entries
		o.isExhausted = o.isExhausted || o.isBehind()
		return
	}
	if o.isBehind() {
		o.hasRestarted = !o.hasRestarted && o.read.After(o.at)
		if o.isExhausted = !o.hasRestarted; o.hasRestarted {
			o.read = streams.Position{}
		}
	}
}

// extendPause starts or lengthens the pause if the stream was read completely and ended
// with foreign entries.
func (o *origin) extendPause(now time.Time) {
	if now.Before(o.rest) || o.hasUnread() || !o.read.After(o.at) {
		return
	}
	o.pause = min(max(2*o.pause, resyncPeriod), maxJunkPause)
	o.rest = now.Add(o.pause)
}

// wake ends the pause: the site has published, or is about to.
func (o *origin) wake() {
	if o.rest.IsZero() {
		return
	}
	o.pause, o.rest, o.read = 0, time.Time{}, streams.Position{}
}

// isStuck reports whether deltas are missing that the stream does not have, or has only behind a
// record that must wait, as the site's clock was ahead, or behind many foreign entries.
func (o *origin) isStuck(now time.Time) bool {
	return o.isBehind() && (o.isExhausted || now.Before(o.held) || o.foreign >= manyForeign)
}

// isWaiting reports whether nothing of the site is read now: it has a record that must wait, and no new
// snapshot.
func (o *origin) isWaiting(now time.Time) bool {
	hasSnapshot := o.loading != nil || o.snapshot.After(o.looked) && o.wantsSnapshot(now) && o.isRested(now)
	return now.Before(o.held) && !hasSnapshot
}

// wantsSnapshot reports whether a snapshot that was not checked yet may contain data
// missing from the stream.
func (o *origin) wantsSnapshot(now time.Time) bool {
	if o.gap != (streams.Position{}) {
		return true
	}
	if !o.snapshot.After(o.looked) {
		return false
	}
	return o.isStuck(now) && o.snapshot.After(o.at) || o.gaps > 0 && o.snapshot.Epoch == o.at.Epoch
}

// moveTo records the consumed position. Nobody will supply what is missing of a stale
// epoch.
func (o *origin) moveTo(at streams.Position) {
	if at.Epoch > o.at.Epoch {
		o.gaps, o.isLatestRefused = 0, false
	}
	o.at, o.foreign = at, 0
	o.wake()
}

// openGaps returns the gaps that can still be filled. Gaps of a stale epoch, for which
// there will be no further snapshot, are not counted.
func (o *origin) openGaps() int64 {
	if o.head.Epoch > o.at.Epoch {
		return 0
	}
	return o.gaps
}

// settle records since when data waits. It is called, under mu, after every change of at
// and head.
func (o *origin) settle(now time.Time) {
	switch {
	case !o.isBehind():
		o.waiting = time.Time{}
	case o.waiting.IsZero():
		o.waiting = now
	}
}

// origin returns the state of a proven site, creating it if needed. It returns nil for this
// site and for names beyond streams.MaxSites, unless another one has been silent for long.
func (f *Follower) origin(site string) *origin {
	o := f.origins[site]
	switch {
	case o != nil || site == f.site:
		return o
	case len(f.origins) >= streams.MaxSites && !f.forgetSilent(time.Now()):
		if f.logLimit.Allow("sites") {
			f.log.Warn("too many sites: further ones are ignored", "limit", streams.MaxSites, "site", site)
		}
		return nil
	}
	at := f.cursor(site)
	o = &origin{site: site, since: time.Now(), at: at, head: at, proven: at}
	if f.db.Wanting(site) {
		o.gaps = 1 // or more, from before the start
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.origins[site] = o
	return o
}

// goneFor is the silence after which a site has gone that has no heartbeat in Redis. Sites store one
// every two seconds.
const goneFor = time.Minute

// hasGone reports whether nothing is left of a site without a heartbeat in Redis: it is silent, and
// there is no data of it here. It was renamed or removed, and then dropped.
func (f *Follower) hasGone(o *origin, now time.Time) bool {
	return f.cursor(o.site) == (streams.Position{}) && now.Sub(o.since) > goneFor && now.Sub(o.heard) > goneFor
}

// forgetSilent removes the state of the site that has been silent for the longest time, if that
// is long enough. So a holder of the federation key who has used up all names does not keep new
// sites out after he has left. The database keeps the site's cursor and data.
func (f *Follower) forgetSilent(now time.Time) bool {
	oldest, last := "", now.Add(-silentFor)
	for site, o := range f.origins {
		news := o.since
		if o.heard.After(news) {
			news = o.heard
		}
		if news.Before(last) {
			oldest, last = site, news
		}
	}
	if oldest == "" {
		return false
	}
	f.forget(oldest)
	return true
}

// forget removes the state of a site. Its next heartbeat creates it anew.
func (f *Follower) forget(site string) {
	f.mu.Lock()
	delete(f.origins, site)
	f.mu.Unlock()
	f.metrics.forget(site)
	f.refused.Forget(site)
}

// afterDrop resets the origins to the database's content after a site was dropped, which
// removes its consumed data. It returns false if no site was dropped.
func (f *Follower) afterDrop() bool {
	drops := f.db.Drops()
	if drops == f.drops {
		return false
	}
	f.drops = drops
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.origins {
		o.at, o.claim, o.gap, o.lost = f.cursor(o.site), streams.Position{}, streams.Position{}, streams.Position{}
		if o.at == (streams.Position{}) { // dropped: its next heartbeat gives its position
			o.head, o.proof, o.proven, o.stale = streams.Position{}, nil, streams.Position{}, streams.Position{}
			o.isDropped = true
		}
		o.wake()
		o.read, o.foreign, o.hasRestarted, o.isLatestRefused = streams.Position{}, 0, false, false
		o.looked, o.took, o.loading, o.isExhausted = streams.Position{}, streams.Position{}, nil, false
		o.votesLooked, o.votes, o.gaps = 0, 0, 0
		if f.db.Wanting(o.site) {
			o.gaps = 1
		}
		o.settle(time.Now())
	}
	return true
}

func (f *Follower) cursor(site string) streams.Position {
	epoch, seq := f.db.Cursor(site)
	return streams.At(epoch, seq)
}

// refuse counts a refusal. The origin is nil if unknown.
func (f *Follower) refuse(o *origin, cause refusal.Cause, err error) {
	site := ""
	if o != nil {
		site = o.site
	}
	f.refused.Add(site, cause, err)
}

// task is one step of reading a site's published data.
type task func(*Follower, context.Context, *origin) error

// work returns the next step for a site, or nil if there is none.
func (f *Follower) work(o *origin, now time.Time) task {
	if o.isWaiting(now) {
		return nil
	}
	var t task
	trust := f.db.TrustOf(o.site)
	switch {
	case trust != wire.TrustNone && o.canRepeat(now):
		t = (*Follower).repeatHeartbeat
	case o.isDropped:
	case trust == wire.TrustVote && o.votesAnnounced != o.votesLooked && o.mayReadVotes(now):
		t = (*Follower).readVotes
	case trust != wire.TrustFull || o.isAhead() || o.isSpent(now):
	case o.loading != nil:
		t = (*Follower).readChunk
	case o.gap != (streams.Position{}) && !o.isRested(now):
		t = (*Follower).passGap
	case o.wantsSnapshot(now) && o.isRested(now):
		t = (*Follower).beginLoading
	case o.hasUnread():
		t = (*Follower).readBatch
	}
	if t != nil && f.db.Muted(o.site) {
		return nil
	}
	return t
}
