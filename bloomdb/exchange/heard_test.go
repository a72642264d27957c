package exchange

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// A client that can write to the channel but has no key cannot make a dead site look alive,
// nor its clock look wrong.
func TestRepeatedNewsProveNoLife(t *testing.T) {
	now := time.Now()
	clocked := func(name string) *bloomdb.DB {
		o := siteOptions(t.TempDir(), name)
		o.Now = func() time.Time { return now }
		return openDB(t, o)
	}
	a, b := clocked("a"), clocked("b")
	x := newExchange(b, nil, Options{})
	earlier := a.Heartbeat(0, 0)
	now = now.Add(time.Second)
	last := a.Heartbeat(0, 0)
	x.receiveHeartbeat(earlier, true)
	x.receiveHeartbeat(last, true)
	o := x.origins["a"]
	if o == nil || o.heard.IsZero() {
		t.Fatal("no heartbeat of the site arrived")
	}
	o.heard = time.Time{}
	now = now.Add(2 * time.Hour)
	for _, record := range [][]byte{earlier, last} {
		x.receiveHeartbeat(record, true)
	}
	epoch, _ := a.Head()
	x.receiveNews(news{head: wire.Head{Type: wire.RecordDelta, Site: "a", Epoch: epoch, Seq: 9}, record: []byte("forged")})
	if s := x.siteStatus(o, now); s.Heard != nil || s.Clock || len(s.Refused) > 0 {
		t.Errorf("repeated and forged news were accepted: %+v", s)
	}
	x.receiveHeartbeat(a.Heartbeat(0, 0), true)
	if s := x.siteStatus(o, now); s.Heard == nil {
		t.Error("the site is back, but its heartbeat was not accepted")
	}
}

// An intermittent part does not fill the log.
func TestLinkThatFlaps(t *testing.T) {
	var text strings.Builder
	l := link{log: slog.New(slog.NewTextHandler(&text, nil))}
	l.succeeded(partPublish)
	for range 100 {
		l.failed(partPublish, errors.New("gone"))
		l.succeeded(partPublish)
	}
	if fails, works := strings.Count(text.String(), "exchange failed"), strings.Count(text.String(), "exchange recovered"); fails != 1 || works != 1 {
		t.Errorf("logged %d failures and %d recoveries, want one each a minute", fails, works)
	}
	l.failed(partRead, errors.New("gone"))
	if !strings.Contains(text.String(), "part=read") {
		t.Error("another part must be logged at once")
	}
}
