package follower

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
)

// A site may end between a delta and the heartbeat that announces it. A site that joins
// then is not level until it has read the stream to its end.
func TestLagCountsUnannouncedDeltas(t *testing.T) {
	a, b, log := openSite(t, "a"), openSite(t, "b"), newLog()
	if err := a.Resume(0, 0); err != nil {
		t.Fatal(err)
	}
	redis := &streamstest.Connection{Log: log}
	var tail streams.Position
	if err := redis.Heartbeat(t.Context(), "a", a.Heartbeat(0, 0), tail, nil); err != nil {
		t.Fatal(err)
	}
	const deltas = 3
	for i := range deltas {
		bloomdbtest.Count(t, a, i, 1)
		d, ok, err := a.NextDelta(true)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if err := redis.Publish(t.Context(), d, tail, 1000); err != nil {
			t.Fatal(err)
		}
		tail = streams.At(d.Epoch, d.Seq)
		if err := a.Published(d); err != nil {
			t.Fatal(err)
		}
	}
	f := follow(b, log)
	if err := f.readHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := f.origins["a"]
	batch, err := redis.Read(t.Context(), "a", o.at)
	if err != nil || len(batch) != deltas {
		t.Fatalf("%d entries, %v", len(batch), err)
	}
	for i, e := range batch {
		if lag := f.Status()[0].Lag; lag == 0 {
			t.Errorf("no lag after %d of %d deltas", i, deltas)
		}
		f.consume(o, e)
	}
	if st := f.Status()[0]; st.Lag != 0 || b.Judge(bloomdbtest.Message(deltas-1)).Count != 1 {
		t.Errorf("after all: %+v", st)
	}
}
