package follower

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// filler is the number of entries that the attacker leaves in front of the site's own: many readings.
const filler = 40

// fill puts foreign entries and then deltas into the stream of site a, and states an end of it.
func fill(log *streamstest.Log, tail streams.Position, own ...wire.Delta) {
	log.Change(func(k streamstest.State) {
		var s streamstest.Stream
		for i := range uint64(filler) {
			s.Entries = append(s.Entries, streams.Entry{At: streams.At(5, i+1), Size: -1})
		}
		for _, d := range own {
			s.Entries = append(s.Entries, entryOf(d))
			s.Tail = streams.At(d.Epoch, d.Seq)
		}
		k.Streams["a"], k.Tails["a"] = s, tail
	})
}

// TestFillerInFront is the attack "filler in front": a client with access to Redis, but without a key, puts
// so many entries in front of a site's own that a new site reads them for longer than the time after
// which it reads the heads again, and has left. The reading goes on where it was, also if the client wrote
// another end of the stream and the site is away.
func TestFillerInFront(t *testing.T) {
	for name, isForged := range map[string]bool{"the stream's end": false, "a forged end": true} {
		t.Run(name, func(t *testing.T) {
			a, b := openSite(t, "a"), openSite(t, "b")
			synctest.Test(t, func(t *testing.T) {
				log := newLog()
				f := follow(b, log)
				d := firstDelta(t, a)
				tail := streams.At(d.Epoch, d.Seq)
				if isForged {
					tail = streams.Position{}
				}
				fill(log, tail, d)
				f.receiveHeartbeat(a.Heartbeat(0, 0), true)
				for range filler { // the heads are read before each step
					if err := f.catchUp(t.Context(), true); err != nil {
						t.Fatal(err)
					}
				}
				if !lists(b, 1) {
					t.Errorf("the delta behind the filler is not read: the reading is at %v", f.origins["a"].read)
				}
			})
		})
	}
}

// After many foreign entries in a row, the site's snapshot is requested and read, before the rest of them.
func TestSnapshotInPlaceOfFiller(t *testing.T) {
	a, b := openSite(t, "a"), openSite(t, "b")
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		f := follow(b, log)
		d := firstDelta(t, a)
		p := bloomdbtest.PublishSnapshot(t, a)
		store(log, p)
		fill(log, streams.At(d.Epoch, d.Seq), d)
		f.receiveHeartbeat(a.Heartbeat(0, 0), true)
		o := f.origins["a"]
		steps := func(n int) {
			for range n {
				if err := f.catchUp(t.Context(), false); err != nil {
					t.Fatal(err)
				}
			}
		}
		if steps(1); len(f.Incomplete()) > 0 {
			t.Error("a snapshot is requested for a few foreign entries")
		}
		o.foreign = manyForeign - 1
		if steps(1); !slices.Equal(f.Incomplete(), []string{"a"}) {
			t.Errorf("no snapshot is requested after %d foreign entries", o.foreign)
		}
		f.receiveHeartbeat(a.Heartbeat(d.Seq, 0), true)
		if steps(2 + len(p.Chunks)); !lists(b, 1) || o.foreign != 0 {
			t.Errorf("the snapshot is not read: %+v", f.Status())
		}
		if o.read.Seq >= filler {
			t.Error("the filler has been read")
		}
	})
}
