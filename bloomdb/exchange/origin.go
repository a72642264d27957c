package exchange

import (
	"context"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

const (
	// maxSites bounds what is remembered of names that come from outside.
	maxSites = 1024
	// maxSkew is how far the clock of another site may be off.
	maxSkew = time.Hour
	// maxJunkPause is the longest pause until a stream that ends with foreign entries is
	// read again, while its site shows no sign of life.
	maxJunkPause = time.Hour
	// holdPause is how long a site is left alone of which nothing can be read now.
	holdPause = 30 * time.Second
)

// origin is what the follower knows of one other site.
type origin struct {
	site string
	at   Position // the last delta consumed: applied, or the site's and refused
	head Position // what the site itself says that it has published

	// read is the id of the last foreign entry that was passed over. It is no cursor:
	// at the end of the stream, reading goes back to at once (again), since the stream may
	// have been replaced. A stream whose end was foreign is read again from rest on, the
	// pause doubles each time; a sign of life of its site ends the pause.
	read  Position
	again bool
	pause time.Duration
	rest  time.Time

	// claim is what somebody says to stand in the stream, until it was looked for.
	claim Position
	// dry says that the stream ends before head, so that only a snapshot helps, or
	// more of the stream.
	dry bool
	// gap is the place before which deltas are missing, to be looked for in a
	// snapshot; lost is the last one for which there was none.
	gap, lost Position
	// snapshot is up to where the site's snapshot reaches, as it says; looked is
	// that of the last one looked at, took of the last one read to its end.
	snapshot, looked, took Position
	loading                *loading // the snapshot that is being read; nil: none

	// Stamps of votes: that of the site's, as it says, of the last ones looked at,
	// and of those that are held.
	votesSaid, votesLooked, votes uint64

	// proof is the heartbeat with the largest position, which is proven. stale is the
	// position of a later heartbeat that is smaller; zero: the site is not stale. proof is
	// repeated in the news from tell on.
	proof   []byte
	proven  Position
	stale   Position
	tell    time.Time
	refuses bool // what the site says to be its latest was refused: asking for it again is of no use

	beat time.Time // by its clock, when it made its last heartbeat
	skew time.Duration
	held time.Time // before this, nothing of it is read

	heard   time.Time // when its news last came
	waiting time.Time // since when something waits to be applied; zero: nothing does
	gaps    int64     // that no snapshot has filled
	refused map[cause]int64
}

// ahead says that the site's clock is too far ahead to take what it sends.
func (o *origin) ahead() bool { return o.skew > maxSkew }

// behind says that the site has published what we have not consumed. A life in
// which nothing was published yet has nothing to tell.
func (o *origin) behind() bool { return o.head.Seq > 0 && o.head.after(o.at) }

// unread says that the stream has, or may have, entries to be read.
func (o *origin) unread() bool { return o.behind() && !o.dry || o.claim.after(o.from()) }

// from is where the stream is to be read from.
func (o *origin) from() Position { return later(o.at, o.read) }

// atEnd notes that the stream has no more entries, whatever was said.
func (o *origin) atEnd(now time.Time) {
	o.claim = Position{}
	if now.Before(o.rest) { // somebody has claimed that there is more
		o.dry = o.dry || o.behind()
		return
	}
	if o.behind() {
		o.again = !o.again && o.read.after(o.at)
		if o.dry = !o.again; o.again {
			o.read = Position{}
		}
	}
}

// tire begins or lengthens the pause, if the stream was read as far as is known and ended
// with foreign entries.
func (o *origin) tire(now time.Time) {
	if now.Before(o.rest) || o.unread() || !o.read.after(o.at) {
		return
	}
	o.pause = min(max(2*o.pause, resyncPeriod), maxJunkPause)
	o.rest = now.Add(o.pause)
}

// alive ends the pause: the site has published, or is about to.
func (o *origin) alive() {
	if o.rest.IsZero() {
		return
	}
	o.pause, o.rest, o.read = 0, time.Time{}, Position{}
}

// wantsSnapshot says that the site's snapshot, one that was not looked at, may have
// what the stream has not.
func (o *origin) wantsSnapshot() bool {
	if o.gap != (Position{}) {
		return true
	}
	if !o.snapshot.after(o.looked) {
		return false
	}
	return o.dry && o.behind() && o.snapshot.after(o.at) || o.gaps > 0 && o.snapshot.Epoch == o.at.Epoch
}

// moveTo notes what was consumed. What is missing of a life that is over, nobody
// will bring.
func (o *origin) moveTo(at Position) {
	if at.Epoch > o.at.Epoch {
		o.gaps, o.refuses = 0, false
	}
	o.at = at
	o.alive()
}

// openGaps are the gaps that can still be filled: those of a life that is over, and
// of which there will be no snapshot any more, are not told.
func (o *origin) openGaps() int64 {
	if o.head.Epoch > o.at.Epoch {
		return 0
	}
	return o.gaps
}

// settle notes since when something waits. It is called, under mu, after every
// change of at and head.
func (o *origin) settle(now time.Time) {
	switch {
	case !o.behind():
		o.waiting = time.Time{}
	case o.waiting.IsZero():
		o.waiting = now
	}
}

// origin finds or makes what is known of a site that has proven to be one; nil for
// ourselves and for names beyond maxSites.
func (x *Exchange) origin(site string) *origin {
	o := x.origins[site]
	switch {
	case o != nil || site == x.site:
		return o
	case len(x.origins) >= maxSites:
		if x.quiet.allow("sites") {
			x.log.Warn("too many sites, more are not heard", "limit", maxSites, "site", site)
		}
		return nil
	}
	at := x.cursor(site)
	o = &origin{site: site, at: at, head: at, refused: make(map[cause]int64)}
	if x.db.Wanting(site) {
		o.gaps = 1 // or more; it was before the start
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.origins[site] = o
	return o
}

// afterDrop begins anew with what the database holds, once a site was dropped: what
// was consumed of it is gone. It returns false where nothing was dropped.
func (x *Exchange) afterDrop() bool {
	drops := x.db.Drops()
	if drops == x.drops {
		return false
	}
	x.drops = drops
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range x.origins {
		o.at, o.claim, o.gap, o.lost = x.cursor(o.site), Position{}, Position{}, Position{}
		if o.at == (Position{}) { // dropped: its next heartbeat tells where it stands
			o.head, o.proof, o.proven, o.stale = Position{}, nil, Position{}, Position{}
		}
		o.alive()
		o.read, o.again, o.refuses = Position{}, false, false
		o.looked, o.took, o.loading, o.dry = Position{}, Position{}, nil, false
		o.votesLooked, o.votes, o.gaps = 0, 0, 0
		if x.db.Wanting(o.site) {
			o.gaps = 1
		}
		o.settle(time.Now())
	}
	return true
}

func (x *Exchange) cursor(site string) Position {
	epoch, seq := x.db.Cursor(site)
	return Position{epoch, seq}
}

// task is a step of reading what a site has published.
type task func(*Exchange, context.Context, *origin) error

// work returns what is to be read of a site now; nil for nothing.
func (x *Exchange) work(o *origin, now time.Time) task {
	if now.Before(o.held) {
		return nil
	}
	var t task
	trust := x.db.TrustOf(o.site)
	switch {
	case trust != bloomdb.TrustNone && o.tells(now):
		t = (*Exchange).tellPast
	case trust == bloomdb.TrustVote && o.votesSaid != o.votesLooked:
		t = (*Exchange).readVotes
	case trust != bloomdb.TrustFull || o.ahead():
	case o.loading != nil:
		t = (*Exchange).readChunk
	case o.wantsSnapshot():
		t = (*Exchange).beginLoading
	case o.unread():
		t = (*Exchange).readBatch
	}
	if t != nil && x.db.Muted(o.site) {
		return nil
	}
	return t
}
