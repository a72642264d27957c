package exchange

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
)

// Who can write into the channel and has no key can't make a site that is gone look
// alive, nor its clock look wrong.
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
	x.hearHeartbeat(earlier, true)
	x.hearHeartbeat(last, true)
	o := x.origins["a"]
	if o == nil || o.heard.IsZero() {
		t.Fatal("the site is not heard")
	}
	o.heard = time.Time{}
	now = now.Add(2 * time.Hour)
	for _, record := range [][]byte{earlier, last} {
		x.hearHeartbeat(record, true)
	}
	epoch, _ := a.Head()
	x.hear(news{head: bloomdb.Head{Type: bloomdb.RecordDelta, Site: "a", Epoch: epoch, Seq: 9}, record: []byte("forged")})
	if s := x.siteStatus(o, now); s.Heard != nil || s.Clock || len(s.Refused) > 0 {
		t.Errorf("repeated and forged news are taken for the site's word: %+v", s)
	}
	x.hearHeartbeat(a.Heartbeat(0, 0), true)
	if s := x.siteStatus(o, now); s.Heard == nil {
		t.Error("the site is back, and not heard")
	}
}

// A part that comes and goes does not fill the log.
func TestLinkThatFlaps(t *testing.T) {
	var text strings.Builder
	l := link{log: slog.New(slog.NewTextHandler(&text, nil))}
	l.works(partPublish)
	for range 100 {
		l.failed(partPublish, errors.New("gone"))
		l.works(partPublish)
	}
	if fails, works := strings.Count(text.String(), "exchange fails"), strings.Count(text.String(), "works again"); fails != 1 || works != 1 {
		t.Errorf("told %d failures and %d times that it works again; want one each a minute", fails, works)
	}
	l.failed(partRead, errors.New("gone"))
	if !strings.Contains(text.String(), "part=read") {
		t.Error("another part is told at once")
	}
}
