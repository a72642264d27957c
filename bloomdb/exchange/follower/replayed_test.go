package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A client that can write to the channel, but has no key, can neither make an inactive site look
// alive nor make its clock look wrong.
func TestReplayedNewsAreIgnored(t *testing.T) {
	now := time.Now()
	clocked := func(name string) *bloomdb.DB { return openAt(t, name, func() time.Time { return now }) }
	a, b := clocked("a"), clocked("b")
	f := follow(b, newLog())
	earlier := a.Heartbeat(0, 0)
	now = now.Add(time.Second)
	last := a.Heartbeat(0, 0)
	f.receiveHeartbeat(earlier, true)
	f.receiveHeartbeat(last, true)
	o := f.origins["a"]
	if o == nil || o.heard.IsZero() {
		t.Fatal("no heartbeat of the site arrived")
	}
	o.heard = time.Time{}
	now = now.Add(2 * time.Hour)
	for _, record := range [][]byte{earlier, last} {
		f.receiveHeartbeat(record, true)
	}
	epoch, _ := a.Head()
	f.receiveNews(News{Head: wire.Head{Type: wire.RecordDelta, Site: "a", Epoch: epoch, Seq: 9}, Record: []byte("forged")})
	if s := f.siteStatus(o, now); s.Heard != nil || s.Clock || len(s.Refused) > 0 {
		t.Errorf("repeated and forged news were accepted: %+v", s)
	}
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	if s := f.siteStatus(o, now); s.Heard == nil {
		t.Error("the site is back, but its heartbeat was not accepted")
	}
}

// The same holds for a site whose clock is some minutes ahead, of which each heartbeat is from this
// site's future, and a dropped epoch of it stays dropped.
func TestReplayedNewsOfASiteAhead(t *testing.T) {
	now, ahead := time.Now(), 5*time.Minute
	fast := func() time.Time { return now.Add(ahead) }
	earlier, b := openAt(t, "a", fast), openAt(t, "b", func() time.Time { return now })
	log := newLog()
	f := follow(b, log)
	old := firstDelta(t, earlier)
	heartbeat := earlier.Heartbeat(0, 0)
	now = now.Add(2 * time.Minute)
	a := openAt(t, "a", fast)
	testenv.Check(t, a.Resume(old.Epoch, old.Seq))
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	testenv.Check(t, b.Drop("a"))
	testenv.Check(t, b.Mute("a", false))
	f.afterDrop()
	now = now.Add(time.Second)
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	o := f.origins["a"]
	o.heard = time.Time{}

	store(log, bloomdbtest.Snapshot{}, old)
	f.receiveHeartbeat(heartbeat, true)
	o.claim = streams.At(old.Epoch, old.Seq)
	look(t, f)
	if s := f.siteStatus(o, now); s.Heard != nil || s.Stale != nil || s.SkewSeconds < 299 || lists(b, 1) {
		t.Errorf("a repeated heartbeat was accepted: %+v; the dropped report is listed: %v", s, lists(b, 1))
	}
	ahead = 0
	if f.receiveHeartbeat(a.Heartbeat(0, 0), true); o.heard.IsZero() || o.skew.Abs() > time.Second {
		t.Errorf("the heartbeat by the right clock is ignored: %+v", f.siteStatus(o, now))
	}
}
