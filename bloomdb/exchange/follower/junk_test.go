package follower

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Junk in the stream of an inactive site is read a few times, not each time the heads are read,
// twice a minute, whatever head an attacker announces. When the site is back, its stream is read
// at once.
func TestJunkOfAnInactiveSite(t *testing.T) {
	for name, c := range map[string]struct{ behind, claimed bool }{
		"no gap":             {false, false},
		"a gap":              {true, false},
		"a gap, and a claim": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := openSite(t, "a"), openSite(t, "b")
			synctest.Test(t, func(t *testing.T) { readJunk(t, a, b, c.behind, c.claimed) })
		})
	}
}

func readJunk(t *testing.T, a, b *bloomdb.DB, behind, claimed bool) {
	d := firstDelta(t, a)
	log := newLog()
	f := follow(b, log)
	var stream streamstest.Stream
	if !behind {
		stream.Entries = append(stream.Entries, entryOf(d))
	}
	const junk = 20
	for i := range uint64(junk) {
		stream.Entries = append(stream.Entries, streams.Entry{At: streams.At(d.Epoch+1, i), Size: 4, Record: []byte("junk")})
	}
	log.Change(func(k streamstest.State) {
		k.Streams["a"], k.Heads["a"] = stream, a.Heartbeat(0, 0)
		k.Tails["a"] = streams.At(d.Epoch+1, 5) // in the middle of it
	})
	const looks = 24 * 120
	for i := range uint64(looks) {
		if claimed && len(f.origins) > 0 {
			f.receiveNews(News{Head: wire.Head{Type: wire.RecordDelta, Site: "a", Epoch: d.Epoch + 2, Seq: i}, Record: []byte("forged")})
		}
		look(t, f)
		time.Sleep(resyncPeriod)
	}
	times := int(f.refused.Of("a")[string(refusal.Invalid)]) / junk
	t.Logf("the junk is read %d times in %d looks", times, looks)
	if times < 1 || times > 80 {
		t.Errorf("the junk is read %d times in %d looks", times, looks)
	}

	// The site moves the junk aside, and publishes again.
	next := nextDelta(t, a, 2)
	testenv.Check(t, a.Published(next))
	stream = streamstest.Stream{}
	for _, d := range []wire.Delta{d, next} {
		stream.Entries = append(stream.Entries, entryOf(d))
	}
	heartbeat := a.Heartbeat(0, 0)
	log.Change(func(k streamstest.State) {
		k.Streams["a"], k.Heads["a"], k.Tails["a"] = stream, heartbeat, streams.At(next.Epoch, next.Seq)
	})
	f.receiveHeartbeat(heartbeat, true)
	look(t, f)
	if !lists(b, 1) || !lists(b, 2) {
		t.Error("the stream of the site is not read when it is back")
	}
}
