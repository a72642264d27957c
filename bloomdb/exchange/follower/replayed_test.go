package follower

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
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
