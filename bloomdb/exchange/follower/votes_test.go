package follower

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site requests another one's votes unless the record in Redis has the epoch and stamp
// announced in the site's heartbeat. It does not request that record again, even if it is
// unusable here. Any client with write access may have put another record there.
func TestRequestedVotes(t *testing.T) {
	clock := time.Now().Add(-time.Minute)
	speak := func(db *bloomdb.DB, n int) (votes, heartbeat []byte) {
		clock = clock.Add(time.Second)
		bloomdbtest.Report(t, db, n)
		votes, stamp, err := db.Votes()
		testenv.Check(t, err)
		return votes, db.Heartbeat(0, stamp)
	}
	live := func() *bloomdb.DB { return openAt(t, "a", func() time.Time { return clock }) }
	earlier, _ := speak(live(), 1)
	clock = clock.Add(time.Second)
	db := live()
	older, _ := speak(db, 2)
	latest, heartbeat := speak(db, 3)
	for _, c := range []struct {
		name    string
		held    []byte // held here before
		found   []byte
		foreign bool // this site has another period
		asks    bool
	}{
		{name: "nothing", asks: true},
		{name: "junk", found: []byte("junk"), asks: true},
		{name: "an earlier epoch, new here", found: earlier, asks: true},
		{name: "an earlier life", held: older, found: earlier, asks: true},
		{name: "older", found: older, asks: true},
		{name: "older than what is held", held: latest, found: older, asks: true},
		{name: "the latest", found: latest},
		{name: "the latest, held", held: latest, found: latest},
		{name: "the latest, of another period", found: latest, foreign: true},
		{name: "older, of another period", found: older, foreign: true, asks: true},
		{name: "an earlier life, of another period", found: earlier, foreign: true, asks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := siteOptions(t, "voter")
			o.Members = wire.Members{"a": {Trust: wire.TrustVote}}
			if c.foreign {
				o.Reports.Period = 50 * time.Hour
			}
			voter, log := bloomdbtest.Open(t, o), newLog()
			if c.held != nil {
				testenv.Check(t, voter.ApplyVotes(c.held))
			}
			log.Change(func(k streamstest.State) { k.Votes["a"] = c.found })
			f := follow(voter, log)
			f.receiveHeartbeat(heartbeat, true)
			testenv.Check(t, f.readVotes(t.Context(), f.origins["a"]))
			if asks := len(f.Incomplete()) > 0; asks != c.asks {
				t.Errorf("requests %v, want %v: %+v", asks, c.asks, f.Status())
			}
		})
	}
}

// TestAnnouncedVotes is the attack "announced votes": a site with the trust "vote" announces other
// votes with each of its heartbeats, of some bytes, so that each other site reads half a MiB for each.
// They are read once in a while.
func TestAnnouncedVotes(t *testing.T) {
	o := siteOptions(t, "voter")
	o.Members = wire.Members{"a": {Trust: wire.TrustVote}}
	f := follow(bloomdbtest.Open(t, o), newLog())
	sealer := &wire.Sealer{Ring: bloomdbtest.Ring}
	begin, reads := time.Now(), 0
	announce := func(n int) {
		h := wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: 1, Made: begin.Add(time.Duration(n) * time.Millisecond)}
		f.receiveHeartbeat(sealer.EncodeRecord(h, binary.BigEndian.AppendUint64(make([]byte, 8), uint64(1+n))), true)
	}
	for n := range 1000 {
		announce(n)
		if step := f.work(f.origins["a"], begin); step != nil {
			reads++
			testenv.Check(t, step(f, t.Context(), f.origins["a"]))
		}
	}
	if reads != 1 {
		t.Errorf("%d readings for 1,000 heartbeats", reads)
	}
	if f.work(f.origins["a"], time.Now().Add(votesPause)) == nil {
		t.Error("the latest votes are never read")
	}
}
