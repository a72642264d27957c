package exchange_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// nextDelta reports a mail in a database and returns the delta.
func nextDelta(t testing.TB, db *bloomdb.DB, what string) wire.Delta {
	t.Helper()
	testenv.Check(t, db.Report(mail("%s", what), bloomdb.ClassOther))
	d, ok, err := db.NextDelta(true)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return d
}

// Garbage in the keys is refused, counted, and delays no site.
func TestGarbage(t *testing.T) {
	server, a, b := startPair(t)
	a.report(mail("first"))
	testenv.Eventually(t, "the first report arrives", func() bool { return b.lists(mail("first")) })
	awaitLevel(t, a, b)
	c := server.Client()
	defer c.Close()
	s := a.keys()
	add := func(site, id string, values ...any) {
		t.Helper()
		testenv.Check(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: s.StreamKey(site), ID: id, Values: values}).Err())
	}
	own, err := s.Read(t.Context(), "a", streams.Position{})
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	torn := bytes.Clone(own[0].Record)
	torn[len(torn)-1] ^= 1
	other := siteOptions(t.TempDir(), "evil")
	other.Key[0]++
	foreign := openDB(t, other)
	testenv.Check(t, foreign.Resume(0, 0))
	record := nextDelta(t, foreign, "foreign")

	add("evil", "1-1", streams.EntryField, strings.Repeat("x", 3<<19)) // 1.5 MiB
	add("evil", "1-2", "x", "y")
	add("evil", "1-3", streams.EntryField, "no record at all")
	add("evil", "1-4", streams.EntryField, own[0].Record) // of another site
	add("evil", streams.At(own[0].At.Epoch, own[0].At.Seq+1).String(), streams.EntryField, torn)
	at := streams.At(record.Epoch, record.Seq).String()
	add("evil", at, streams.EntryField, record.Data)
	c.Set(t.Context(), s.StreamKey("text"), "not a stream", 0)
	c.HSet(t.Context(), s.ManifestKey("far"), "not", "a string")
	const last = "18446744073709551615-18446744073709551615"
	for site, tail := range map[string]string{"evil": last, "text": "9-9", "far": last} {
		member := openDB(t, siteOptions(t.TempDir(), site))
		c.HSet(t.Context(), s.HeadsKey(), site, member.Heartbeat(77, 77))
		c.HSet(t.Context(), s.TailsKey(), site, tail)
	}
	c.HSet(t.Context(), s.HeadsKey(), "no/site", "x", "bad", "head", "foreign", foreign.Heartbeat(1, 1), "b2", a.db.Heartbeat(0, 0))
	for _, news := range []string{"", "garbage", strings.Repeat("x", 3<<19), string(torn), string(foreign.Heartbeat(0, 0)), string(record.Data)} {
		c.Publish(t.Context(), s.Channel(), news)
	}

	b.x.RequestResync()
	for _, want := range []refusal.Cause{refusal.Oversize, refusal.Entry, refusal.Invalid, refusal.Origin} {
		testenv.Eventually(t, "it is refused: "+string(want), func() bool { return b.of("evil").Refused[string(want)] > 0 })
	}
	testenv.Eventually(t, "the key of another type is refused", func() bool { return b.of("text").Refused[string(refusal.Stream)] > 0 })
	testenv.Eventually(t, "names without proof are refused", func() bool {
		refused := b.x.Status().Refused
		return refused[string(refusal.News)] > 0 && refused[string(refusal.Origin)] > 0 && b.of("evil").Refused[string(refusal.Federation)] > 0
	})
	for i := range 5 {
		a.report(mail("a %d", i))
		b.report(mail("b %d", i))
	}
	b.awaitAll("a %d", 5)
	a.awaitAll("b %d", 5)
	if got := b.of("evil").Refused[string(refusal.Oversize)]; got > 3 {
		t.Errorf("the same record was refused %d times", got)
	}
	if names := len(b.x.Status().Sites); names != 4 {
		t.Errorf("%d sites: %+v", names, b.x.Status().Sites)
	}
}

// Garbage skipped under a name does not affect a site that later uses that name.
func TestGarbageIsDeleted(t *testing.T) {
	server := redistest.Start(t)
	b := startSite(t, t.TempDir(), "b", server.URL())
	c := server.Client()
	defer c.Close()
	s := b.keys()
	c.XAdd(t.Context(), &redis.XAddArgs{Stream: s.StreamKey("a"), ID: "9999999999999-7", Values: []any{"x", "y"}})
	member := openDB(t, siteOptions(t.TempDir(), "a"))
	c.HSet(t.Context(), s.HeadsKey(), "a", member.Heartbeat(0, 0))
	c.HSet(t.Context(), s.TailsKey(), "a", "9999999999999-7")
	b.x.RequestResync()
	testenv.Eventually(t, "garbage is skipped", func() bool { return b.of("a").Refused[string(refusal.Entry)] == 1 })

	c.Del(t.Context(), s.StreamKey("a"), s.HeadsKey(), s.TailsKey())
	a := startSite(t, t.TempDir(), "a", server.URL())
	a.report(mail("x"))
	testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > 0 })
	b.x.RequestResync() // in production every half minute
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("x")) })
}

// Garbage in a site's own stream, up to the last possible id, changes neither its epoch nor
// its numbers: it is moved aside and reported, and the site continues.
func TestGarbageInTheOwnStream(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	defer c.Close()
	s := streams.New(c, keyring.ID(testKey))
	foul := func(id string) {
		t.Helper()
		testenv.Check(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: s.StreamKey("a"), ID: id, Values: []any{"x", "y"}}).Err())
	}
	foul("9999999999999-7")
	a, b := startSites(t, server.URL(), server.URL())
	epoch, _ := a.db.Head()
	for i, id := range []string{"", "18446744073709551613-1", "18446744073709551615-18446744073709551615"} {
		if id != "" {
			foul(id)
		}
		a.report(mail("behind %d", i))
		testenv.Eventually(t, "it is overcome", func() bool { return b.lists(mail("behind %d", i)) })
		moved := a.x.Status().MovedAside
		if moved == nil || moved.Times != int64(i+1) || id != "" && moved.Tail.String() != id {
			t.Errorf("after %s: %+v", id, moved)
		}
		if n := c.XLen(t.Context(), s.ForeignKey("a")).Val(); n == 0 {
			t.Error("the data moved aside has disappeared")
		}
	}
	if now, _ := a.db.Head(); now != epoch || b.of("a").Applied.Epoch != epoch {
		t.Errorf("epoch %d became %d, at the other site %v", epoch, now, b.of("a").Applied)
	}
}
