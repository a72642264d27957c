package follower

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// siteOptions are small, with the real time.
func siteOptions(t *testing.T, name string) bloomdb.Options {
	o := bloomdbtest.Options(t.TempDir(), name)
	o.Now = nil
	return o
}

func openSite(t *testing.T, name string) *bloomdb.DB {
	t.Helper()
	return bloomdbtest.Open(t, siteOptions(t, name))
}

// openAt is openSite with a clock of its own.
func openAt(t *testing.T, name string, now func() time.Time) *bloomdb.DB {
	t.Helper()
	o := siteOptions(t, name)
	o.Now = now
	return bloomdbtest.Open(t, o)
}

func newLog() *streamstest.Log { return streamstest.NewLog(rand.New(rand.NewPCG(1, 1))) }

// follow returns a follower of the sites in the log.
func follow(db *bloomdb.DB, log *streamstest.Log) *Follower {
	discard := slog.New(slog.DiscardHandler)
	return New(db, &streamstest.Connection{Log: log}, link.New(discard), refusal.New(discard), discard)
}

// nextDelta reports a message in a database and returns the delta.
func nextDelta(t *testing.T, db *bloomdb.DB, n int) wire.Delta {
	t.Helper()
	bloomdbtest.Report(t, db, n)
	d, ok, err := db.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return d
}

// firstDelta begins the epoch of a database and returns its first delta, marked as
// published. It reports message 1.
func firstDelta(t *testing.T, db *bloomdb.DB) wire.Delta {
	t.Helper()
	testenv.Check(t, db.Resume(0, 0))
	d := nextDelta(t, db, 1)
	testenv.Check(t, db.Published(d))
	return d
}

// entryOf returns a delta as an entry of a stream.
func entryOf(d wire.Delta) streams.Entry {
	return streams.Entry{At: streams.At(d.Epoch, d.Seq), Size: len(d.Data), Record: d.Data}
}

// look makes a follower read all new data, as it does periodically.
func look(t *testing.T, f *Follower) {
	t.Helper()
	for heads := true; heads || f.anyWork(); heads = false {
		testenv.Check(t, f.catchUp(t.Context(), heads))
	}
}

func lists(db *bloomdb.DB, n int) bool { return db.Judge(bloomdbtest.Message(n)).Listed }
