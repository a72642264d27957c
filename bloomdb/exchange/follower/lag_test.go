package follower

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A site may end between a delta and the heartbeat that announces it. A site that joins
// then is not level until it has read the stream to its end.
func TestLagCountsUnannouncedDeltas(t *testing.T) {
	a, b, log := openSite(t, "a"), openSite(t, "b"), newLog()
	testenv.Check(t, a.Resume(0, 0))
	redis := &streamstest.Connection{Log: log}
	var tail streams.Position
	testenv.Check(t, redis.Heartbeat(t.Context(), "a", a.Heartbeat(0, 0), tail, nil))
	const deltas = 3
	for i := range deltas {
		bloomdbtest.Count(t, a, i, 1)
		d, ok, err := a.NextDelta(true)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		testenv.Check(t, redis.Publish(t.Context(), d, tail, 1000))
		tail = streams.At(d.Epoch, d.Seq)
		testenv.Check(t, a.Published(d))
	}
	f := follow(b, log)
	testenv.Check(t, f.readHeads(t.Context()))
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
