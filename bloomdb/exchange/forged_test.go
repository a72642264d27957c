package exchange_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// forge adds an entry to a stream of the simulated log, as anyone can.
func forge(l *streamstest.Log, site string, at streams.Position, record []byte) {
	l.Change(func(k streamstest.State) {
		s := k.Streams[site]
		s.Entries = append(s.Entries[:len(s.Entries):len(s.Entries)], streams.Entry{At: at, Size: max(1, len(record)), Record: record})
		s.Tail = at
		k.Streams[site], k.Tails[site] = s, at
	})
}

// Sixteen entries are forged, one a minute, followed by sixteen minutes without. The site stays
// in its epoch, and its reports arrive in each of these minutes.
func TestForgedEntriesBeginNoEpoch(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log := streamstest.NewLog(rand.New(rand.NewPCG(1, 1)))
		begin := func(name string) *modelSite {
			s := &modelSite{t: t, name: name, root: root + "/" + name, log: log, current: newEpochState()}
			testenv.Check(t, os.MkdirAll(s.root, 0o700))
			s.start()
			return s
		}
		a, b := begin("a"), begin("b")
		defer a.end()
		defer b.end()
		epoch, _ := a.db.Head()
		for i := range 32 {
			at := streams.At(epoch+uint64(i)<<32, uint64(i))
			if i%2 == 1 { // directly after the last one
				at.Epoch, at.Seq = a.db.Head()
				at.Seq++
			}
			forge(log, "a", at, []byte("x"))
			a.report(i)
			time.Sleep(time.Minute)
			if !b.db.Judge(mail("mail %d", i)).Listed {
				t.Fatalf("the report of minute %d has not arrived: %+v", i, b.x.Status())
			}
		}
		if now, _ := a.db.Head(); now != epoch {
			t.Errorf("epoch %d became %d", epoch, now)
		}
		if held := b.db.Status().Sites[1:]; len(held) != 1 || held[0].Epoch != epoch {
			t.Errorf("held epochs %+v", held)
		}
		if moved := timesMoved(a.x); moved != 32 {
			t.Errorf("moved aside %d times", moved)
		}
	})
}

// The rows "epoch" and "lives": one XADD, and twenty; then a restart, then a new folder and
// an emptied Redis.
func TestForgedEpoch(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	c := redistest.Dial(t, server.URL())
	dir := t.TempDir()
	m1, m2 := startSite(t, t.TempDir(), "m1", server.URL()), startSite(t, dir, "m2", server.URL())
	m2.report(mail("before"))
	testenv.Eventually(t, "it arrives", func() bool { return m1.lists(mail("before")) })
	epoch, _ := m2.db.Head()
	const last = "18446744073709551613-1"
	testenv.Check(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: m2.keys().StreamKey("m2"), ID: last, Values: []any{"x", "y"}}).Err())
	testenv.Eventually(t, "it is reported", func() bool {
		moved := m2.x.Status().MovedAside
		return moved != nil && moved.Tail.String() == last
	})
	for i := range 20 { // the row "lives", as fast as possible
		id := fmt.Sprintf("%d-1", epoch+uint64(i+1)*1000)
		testenv.Check(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: m2.keys().StreamKey("m2"), ID: id, Values: []any{"x", "y"}}).Err())
		m2.report(mail("after %d", i))
		testenv.Eventually(t, "it arrives", func() bool { return m1.lists(mail("after %d", i)) })
	}
	if held := m1.db.Status().Sites; len(held) != 2 {
		t.Errorf("want one epoch of m2, held: %+v", held)
	}

	m2.stop()
	keys := streams.New(c, keyring.ID(testKey)) // a genuine record of m2 whose number is a time
	votes, err := keys.Votes(t.Context(), "m2")
	if err != nil || votes == nil {
		t.Fatal(votes, err)
	}
	c.HSet(t.Context(), keys.HeadsKey(), "m2", votes)
	c.Set(t.Context(), keys.ManifestKey("m2"), votes, 0)
	m2 = startSite(t, dir, "m2", server.URL())
	m2.report(mail("restarted"))
	testenv.Eventually(t, "it arrives", func() bool { return m1.lists(mail("restarted")) })
	testenv.Eventually(t, "nothing of it is missing", func() bool { return m1.of("m2").Lag == 0 })
	if now, _ := m2.db.Head(); now != epoch || m1.of("m2").Applied.Epoch != epoch {
		t.Errorf("epoch %d became %d, and %+v", epoch, now, m1.of("m2"))
	}
	m2.stop()
	c.FlushAll(t.Context())
	m2 = startSite(t, t.TempDir(), "m2", server.URL())
	m2.report(mail("new folder"))
	testenv.Eventually(t, "it arrives", func() bool { return m1.lists(mail("new folder")) })
}

// An attacker destroys a site's published data while no other site reads: entries in the middle
// of the stream, chunks, votes. A site that misses them requests them, and the site publishes
// everything again.
func TestDestroyedRecordsAreRequested(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	c := redistest.Dial(t, server.URL())
	dir := t.TempDir()
	a, b := startSite(t, t.TempDir(), "a", server.URL()), startSite(t, dir, "b", server.URL())
	another := startSite(t, t.TempDir(), "c", server.URL())
	another.report(mail("of another site"))
	a.report(mail("first"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("first")) })
	awaitLevel(t, a, b)
	b.stop()
	for i := range 5 {
		_, before := a.db.Head()
		a.report(mail("m %d", i))
		testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > before })
	}
	testenv.Eventually(t, "nothing waits to be published", func() bool {
		_, pending, err := a.db.NextDelta(true)
		st := a.x.Status()
		return err == nil && !pending && st.Snapshot != nil && *st.Snapshot == st.Published
	})
	keys := a.keys()
	batch, err := keys.Read(t.Context(), "a", streams.Position{})
	if err != nil || len(batch) == 0 {
		t.Fatal(batch, err)
	}
	// The same ids, and only at the end the genuine record. In one transaction: a is running,
	// and moves a stream aside that ends with a forged record.
	if _, err := c.TxPipelined(t.Context(), func(tx redis.Pipeliner) error {
		tx.Unlink(t.Context(), keys.StreamKey("a"))
		for i, e := range batch {
			record := []byte("x")
			if i == len(batch)-1 {
				record = e.Record
			}
			tx.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.StreamKey("a"), ID: e.At.String(), Values: []any{streams.EntryField, record}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, slot := range []byte("01") {
		c.HSet(t.Context(), keys.SlotKey("a", slot), "0", "x")
	}
	var others []byte // whose votes are not those of a
	testenv.Eventually(t, "another site has votes", func() bool { others, _ = keys.Votes(t.Context(), "c"); return others != nil })
	c.HSet(t.Context(), keys.VotesKey(), "a", others)

	b = startSite(t, dir, "b", server.URL())
	voter := withTrust(t, "voter", server.URL(), wire.Members{"a": {Trust: wire.TrustVote}, "c": {Trust: wire.TrustVote}})
	again := func(s *site, ok bool) bool {
		s.x.RequestResync() // in production every half minute
		return ok
	}
	testenv.Eventually(t, "all reports arrive", func() bool { return again(b, b.listsAll("m %d", 5)) })
	testenv.Eventually(t, "the votes are held", func() bool { return again(voter, voter.of("a").Votes > 0) })
	testenv.Eventually(t, "nothing is missing", func() bool { st := b.of("a"); return st.Lag == 0 && st.Gaps == 0 })
	if moved := a.x.Status().MovedAside; moved != nil {
		t.Errorf("the stream ended with a record of a: %+v", moved)
	}
}

// Keys of another type are replaced, both a site's own and the common ones.
func TestKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	c := redistest.Dial(t, server.URL())
	a, b := startSite(t, t.TempDir(), "a", server.URL()), startSite(t, t.TempDir(), "b", server.URL())
	a.report(mail("first"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("first")) })
	keys := a.keys()
	all := []string{keys.HeadsKey(), keys.TailsKey(), keys.VotesKey()}
	for _, site := range []string{"a", "b"} {
		all = append(all, keys.StreamKey(site), keys.ManifestKey(site), keys.SlotKey(site, '0'), keys.SlotKey(site, '1'))
	}
	for i, spoil := range []func(key string){
		func(key string) { c.Set(t.Context(), key, "x", 0) },
		func(key string) { c.LPush(t.Context(), key, "x") },
	} {
		for _, key := range all {
			c.Unlink(t.Context(), key)
			spoil(key)
		}
		a.report(mail("a %d", i))
		b.report(mail("b %d", i))
		testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("a %d", i)) && a.lists(mail("b %d", i)) })
		testenv.Eventually(t, "the keys have their types again", func() bool {
			for key, want := range map[string]string{keys.StreamKey("a"): "stream", keys.HeadsKey(): "hash", keys.TailsKey(): "hash", keys.ManifestKey("a"): "string"} {
				if c.Type(t.Context(), key).Val() != want {
					return false
				}
			}
			return a.x.Status().Connected && b.x.Status().Connected
		})
	}
	late := startSite(t, t.TempDir(), "late", server.URL())
	late.awaitAll("a %d", 2)
	late.awaitAll("b %d", 2)
}

// After a change of its signing key, a site still recognises its own stream.
func TestOwnStreamAfterANewKey(t *testing.T) {
	m, _ := redistest.Mini(t)
	o := siteOptions(t.TempDir(), "a")
	for i := range 3 {
		key, err := keyring.NewSigningKey()
		testenv.Check(t, err)
		o.SigningKey = key
		a := startSiteWith(t, o, "redis://"+m.Addr())
		a.report(mail("m %d", i))
		testenv.Eventually(t, "it is published", func() bool {
			_, pending, err := a.db.NextDelta(true)
			return err == nil && !pending && a.x.Status().Snapshot != nil
		})
		if moved := a.x.Status().MovedAside; moved != nil {
			t.Fatalf("start %d: %+v", i, moved)
		}
		a.stop()
	}
}

// Two daemons with the same name and different keys do not trust each other. The first one stops
// publishing; the second one continues.
func TestTwoDaemonsWithDifferentKeys(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	begin := func() *site {
		key, err := keyring.NewSigningKey()
		testenv.Check(t, err)
		o := siteOptions(t.TempDir(), "a")
		o.SigningKey = key
		return startSiteWith(t, o, server.URL())
	}
	one := begin()
	one.report(mail("one"))
	testenv.Eventually(t, "it is published", func() bool { _, seq := one.db.Head(); return seq > 0 })
	two := begin()
	two.report(mail("two"))
	testenv.Eventually(t, "the first one notices", func() bool {
		return strings.Contains(one.x.Status().LastError, nameTaken)
	})
	testenv.Eventually(t, "the second one has published", func() bool { _, seq := two.db.Head(); return seq > 0 && two.x.Status().Connected })
	if one.x.Status().MovedAside != nil {
		t.Error("the first daemon moved the stream of an active one aside")
	}
}

// stalled returns a federation of b and of a site a that runs on an older folder, after a
// later folder and all its data in Redis were lost.
func stalled(t *testing.T, restartB bool) (a, b *site, later uint64, told *strings.Builder) {
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	older := t.TempDir()
	startSite(t, older, "a", server.URL()).stop() // it has published nothing yet
	told = new(strings.Builder)
	log := slog.New(slog.NewTextHandler(told, nil))
	dirB := t.TempDir()
	beginB := func() *site {
		db, err := bloomdb.Open(siteOptions(dirB, "b"))
		testenv.Check(t, err)
		return runSite(t, db, dialedOnce(t, server.URL()), exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond, Log: log})
	}
	b = beginB()
	a = startSite(t, t.TempDir(), "a", server.URL())
	a.report(mail("later folder"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("later folder")) })
	awaitLevel(t, a, b)
	testenv.Eventually(t, "a heartbeat arrives", func() bool { return b.of("a").Heard != nil })
	later, _ = a.db.Head()
	a.stop()
	if restartB {
		b.stop()
	}
	redistest.Dial(t, server.URL()).FlushAll(t.Context())
	if restartB {
		b = beginB()
	}
	a = startSite(t, older, "a", server.URL())
	if epoch, _ := a.db.Head(); epoch >= later {
		t.Fatalf("epoch %d, the later folder has %d", epoch, later)
	}
	a.report(mail("older folder"))
	return a, b, later, told
}

func dialedOnce(t *testing.T, url string) *redisclient.Client {
	c, err := redisclient.Dial(url, redisclient.Options{})
	testenv.Check(t, err)
	return c // the site closes it
}

// A site runs on an older folder, with a Redis without data of the later one. Sites that
// received the later epoch notify it, and it begins its next epoch.
func TestStaleSiteHeals(t *testing.T) {
	t.Parallel()
	a, b, later, told := stalled(t, false)
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("older folder")) })
	testenv.Eventually(t, "it is level", func() bool { st := b.of("a"); return st.Stale == nil && st.Lag == 0 })
	if epoch, _ := a.db.Head(); epoch <= later {
		t.Errorf("epoch %d is not after %d", epoch, later)
	}
	if !b.lists(mail("later folder")) {
		t.Error("the later folder's report is lost")
	}
	b.stop()
	if !strings.Contains(told.String(), "site runs on an older state folder") {
		t.Error("the log does not report it")
	}
}

// If no site can notify it, its epoch is shown as stale. The remedy is to drop the site and
// receive its data again.
func TestStaleSiteIsShown(t *testing.T) {
	t.Parallel()
	a, b, later, _ := stalled(t, true)
	epoch, _ := a.db.Head()
	testenv.Eventually(t, "it is shown", func() bool {
		st := b.of("a")
		return st.Stale != nil && st.Stale.Epoch == epoch && st.Head.Epoch == later
	})
	if b.lists(mail("older folder")) {
		t.Error("a delta of a stale epoch was applied")
	}
	testenv.Check(t, b.db.Drop("a"))
	testenv.Check(t, b.db.Mute("a", false))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("older folder")) })
	testenv.Eventually(t, "it is level", func() bool { st := b.of("a"); return st.Stale == nil && st.Lag == 0 })
}

// Earlier records, replayed by anyone, neither make a site stale nor begin an epoch.
func TestRepeatedRecordsChangeNothing(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	server := redistest.Start(t)
	c := redistest.Dial(t, server.URL())
	old := startSite(t, t.TempDir(), "a", server.URL())
	b := startSite(t, t.TempDir(), "b", server.URL())
	old.report(mail("old"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("old")) })
	keys := old.keys()
	testenv.Eventually(t, "there is a snapshot", func() bool { return old.x.Status().Snapshot != nil })
	head, err := keys.Head(t.Context(), "a")
	if err != nil || head == nil {
		t.Fatal(head, err)
	}
	stolen := c.HGetAll(t.Context(), keys.SlotKey("a", '0')).Val()
	manifest, _ := keys.Manifest(t.Context(), "a")
	old.stop()

	a := startSite(t, t.TempDir(), "a", server.URL())
	a.report(mail("new"))
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("new")) })
	epoch, _ := a.db.Head()
	for i := range 5 {
		c.Publish(t.Context(), keys.Channel(), head)
		c.HSet(t.Context(), keys.HeadsKey(), "a", head)
		c.Set(t.Context(), keys.ManifestKey("a"), manifest, 0)
		c.HSet(t.Context(), keys.SlotKey("a", '0'), stolen)
		b.x.RequestResync()
		a.report(mail("m %d", i))
		b.awaitAll("m %d", i+1)
		if st := b.of("a"); st.Stale != nil {
			t.Errorf("%+v", st)
		}
	}
	if now, _ := a.db.Head(); now != epoch {
		t.Errorf("epoch %d became %d", epoch, now)
	}
}
