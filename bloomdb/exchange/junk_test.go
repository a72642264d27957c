package exchange

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Junk in the stream of a dead site is read a few times, not at each reading of the heads,
// two a minute, whatever an attacker claims to be there. When the site is back, its stream
// is read at once.
func TestJunkOfADeadSite(t *testing.T) {
	for name, c := range map[string]struct{ behind, claimed bool }{
		"no gap":             {false, false},
		"a gap":              {true, false},
		"a gap, and a claim": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := openDB(t, siteOptions(t.TempDir(), "a")), openDB(t, siteOptions(t.TempDir(), "b"))
			synctest.Test(t, func(t *testing.T) { readJunk(t, a, b, c.behind, c.claimed) })
		})
	}
}

func readJunk(t *testing.T, a, b *bloomdb.DB, behind, claimed bool) {
	d := firstDelta(t, a)
	log := newSimLog(rand.New(rand.NewPCG(1, 1)))
	x := newExchange(b, &simWire{log: log}, Options{})
	at := Position{d.Epoch, d.Seq}
	var stream simStream
	if !behind {
		stream.entries = append(stream.entries, entry{at: at, size: len(d.Data), record: d.Data})
	}
	const junk = 20
	for i := range uint64(junk) {
		stream.entries = append(stream.entries, entry{at: Position{d.Epoch + 1, i}, size: 4, record: []byte("junk")})
	}
	log.keys.streams["a"], log.keys.heads["a"] = stream, a.Heartbeat(0, 0)
	log.keys.tails["a"] = Position{d.Epoch + 1, 5} // in the middle of it
	const looks = 24 * 120
	for i := range uint64(looks) {
		if claimed && len(x.origins) > 0 {
			x.receiveNews(news{head: wire.Head{Type: wire.RecordDelta, Site: "a", Epoch: d.Epoch + 2, Seq: i}, record: []byte("forged")})
		}
		look(t, x)
		time.Sleep(resyncPeriod)
	}
	times := int(x.origins["a"].refused[causeInvalid]) / junk
	t.Logf("the junk is read %d times in %d looks", times, looks)
	if times < 1 || times > 80 {
		t.Errorf("the junk is read %d times in %d looks", times, looks)
	}

	// The site moves the junk aside, and publishes again.
	next := nextDelta(t, a, "second")
	if err := a.Published(next); err != nil {
		t.Fatal(err)
	}
	stream = simStream{}
	for _, d := range []wire.Delta{d, next} {
		stream.entries = append(stream.entries, entry{at: Position{d.Epoch, d.Seq}, size: len(d.Data), record: d.Data})
	}
	heartbeat := a.Heartbeat(0, 0)
	log.keys.streams["a"], log.keys.heads["a"], log.keys.tails["a"] = stream, heartbeat, Position{next.Epoch, next.Seq}
	x.receiveHeartbeat(heartbeat, true)
	look(t, x)
	if !b.Judge(mail("first")).Listed || !b.Judge(mail("second")).Listed {
		t.Error("the stream of the site is not read when it is back")
	}
}
