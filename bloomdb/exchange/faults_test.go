package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// impatient makes a client give up earlier than useful in production.
const impatient = "?read_timeout=500ms&write_timeout=500ms&dial_timeout=500ms"

// traffic reports and counts at both sites during a fault, and then waits until both have
// received everything.
func traffic(t *testing.T, a, b *site, happens func(i int)) {
	t.Helper()
	const n = 40
	for i := range n {
		a.report(mail("spam of a %d", i))
		b.report(mail("spam of b %d", i))
		a.count(mail("bulk %d", i), 2)
		b.count(mail("bulk %d", i), 3)
		happens(i)
		time.Sleep(10 * time.Millisecond) // the traffic's pace
	}
	for _, s := range []*site{a, b} {
		s.awaitAll("spam of a %d", n)
		s.awaitAll("spam of b %d", n)
		for i := range n {
			testenv.Eventually(t, "the counts add up", func() bool { return s.counts(mail("bulk %d", i)) >= 5 })
			if got := s.counts(mail("bulk %d", i)); got != 5 {
				t.Errorf("bulk %d was counted %d times", i, got)
			}
		}
	}
	awaitLevel(t, a, b)
	a.awaitConnected()
	b.awaitConnected()
}

// expectNewcomer checks that the streams contain everything, not only the sites.
func expectNewcomer(t *testing.T, url string) {
	t.Helper()
	c := startSite(t, t.TempDir(), "newcomer", url)
	c.awaitAll("spam of a %d", 40)
	c.awaitAll("spam of b %d", 40)
	testenv.Eventually(t, "the counts add up", func() bool { return c.counts(mail("bulk %d", 39)) == 5 })
}

func TestRedisDownAtStart(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	server.kill()
	a, b := startSites(t, server.url(), server.url())
	testenv.Eventually(t, "the fault is reported", func() bool { return a.x.Status().LastError != "" })
	if st := a.x.Status(); st.Connected || st.LastErrorAt == nil {
		t.Errorf("%+v", st)
	}
	traffic(t, a, b, func(i int) {
		if i == 30 {
			server.start()
		}
	})
}

func TestConnectionsKilledInALoop(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.client()
	defer c.Close()
	traffic(t, a, b, func(i int) {
		testenv.Eventually(t, "a connection is killed", func() bool {
			kills := int64(0)
			for _, kind := range []string{"normal", "pubsub"} {
				kills += c.ClientKillByFilter(t.Context(), "TYPE", kind, "SKIPME", "yes").Val()
			}
			return kills > 0
		})
	})
	expectNewcomer(t, server.url())
	if st := b.of("a"); st.Gaps != 0 {
		t.Errorf("%+v", st)
	}
}

// SIGSTOP: the kernel still answers for Redis, so that only timeouts reveal it.
func TestRedisStopped(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	a, b := startSites(t, server.url()+impatient, server.url()+impatient)
	traffic(t, a, b, func(i int) {
		switch i {
		case 5:
			server.signal(syscall.SIGSTOP)
			testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected && !b.x.Status().Connected })
		case 30:
			server.signal(syscall.SIGCONT)
		}
	})
	expectNewcomer(t, server.url())
}

func TestRedisKilled(t *testing.T) {
	for name, persistence := range map[string][]string{
		"nothing kept":        nil,
		"all kept":            {"--appendonly", "yes", "--appendfsync", "always"},
		"an older state kept": {"--save", "3600 1000000"}, // saved below by hand
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t, persistence...)
			a, b := startSites(t, server.url(), server.url())
			c := server.client()
			defer c.Close()
			traffic(t, a, b, func(i int) {
				switch i {
				case 5:
					c.Save(t.Context())
				case 15:
					server.kill()
				case 25:
					server.start()
				}
			})
			expectNewcomer(t, server.url())
		})
	}
}

func TestFlushAll(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.client()
	defer c.Close()
	traffic(t, a, b, func(i int) {
		if i%10 == 9 {
			c.FlushAll(t.Context())
		}
	})
	expectNewcomer(t, server.url())

	// Without traffic only the heartbeat can detect it.
	awaitLevel(t, a, b)
	c.FlushAll(t.Context())
	expectNewcomer(t, server.url())
}

// Redis refuses the script with OOM. The waiting data is published when there is memory
// again.
func TestRedisOutOfMemory(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.client()
	defer c.Close()
	traffic(t, a, b, func(i int) {
		switch i {
		case 5:
			c.ConfigSet(t.Context(), "maxmemory", "1")
			testenv.Eventually(t, "the fault is reported", func() bool { return strings.Contains(a.x.Status().LastError, "OOM") })
		case 30:
			c.ConfigSet(t.Context(), "maxmemory", "0")
		}
	})
}

// A link that silently swallows everything in both directions: first on current connections
// (a firewall dropped them), then on all.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	p := startProxy(t, "unix", server.socket())
	a, b := startSites(t, p.url()+impatient, server.url())
	a.awaitConnected()
	traffic(t, a, b, func(i int) {
		switch i {
		case 5:
			p.swallow()
		case 20:
			p.swallowAll()
			testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected })
		case 35:
			p.heal()
		}
	})

	p.swallowAll()
	a.stop() // Run returns although no answer ever comes
}

// A site that was cut off misses news that are not repeated: it reads the streams as soon
// as it is back.
func TestSubscribedAgain(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	p := startProxy(t, "unix", server.socket())
	a, b := startSites(t, server.url(), p.url())
	a.awaitConnected()
	b.awaitConnected()
	p.closed.Store(true)
	p.reset()
	a.report(mail("missed"))
	testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > 0 })
	a.stop()
	if b.lists(mail("missed")) {
		t.Fatal("the site was not cut off")
	}
	p.closed.Store(false)
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("missed")) })
}

// A subscription to a Redis that answers, but that receives no messages any more (a demoted
// primary): this site's own news do not come back.
func TestSubscriptionAtTheWrongRedis(t *testing.T) {
	t.Parallel()
	primary, demoted := startRedis(t), startRedis(t)
	a := startSite(t, t.TempDir(), "a", primary.url())
	a.awaitConnected()
	wrong := dialed(t, demoted.url())
	x := &Exchange{site: "a", o: a.x.o, log: discard, metrics: newMetrics(), link: link{log: discard},
		wire: newStreams(wrong, "k"), news: make(chan news, 1), resync: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	err := make(chan error)
	go func() {
		var wait backoff
		err <- x.listen(ctx, &wait)
	}()
	for {
		select {
		case got := <-err:
			if !strings.Contains(got.Error(), "own news have not come back") {
				t.Fatal(got)
			}
			return
		case <-time.After(20 * time.Millisecond):
			x.publishedAt.Store(time.Now().UnixNano()) // published to another server
		}
	}
}

// A busy follower does not block the subscriber, and misses nothing: it is asked to read
// the streams.
func TestNewsAreDroppedNotQueuedForEver(t *testing.T) {
	db := openDB(t, siteOptions(t.TempDir(), "a"))
	x := &Exchange{site: "me", log: discard, metrics: newMetrics(), news: make(chan news, queuedNews), resync: make(chan struct{}, 1)}
	for range queuedNews {
		x.receive(db.Heartbeat(0, 0))
	}
	select {
	case <-x.resync:
		t.Fatal("asked to read the streams too early")
	default:
	}
	for range 3 {
		x.receive(db.Heartbeat(0, 0))
	}
	if len(x.news) != queuedNews {
		t.Errorf("%d news in the queue", len(x.news))
	}
	select {
	case <-x.resync:
	default:
		t.Error("dropped news without a resync")
	}
}

func TestBackoff(t *testing.T) {
	var b backoff
	for range 3 {
		sum := time.Duration(0)
		for want := firstWait; want < lastWait; want *= 2 {
			if got := b.next(); got < want/2 || got > want {
				t.Errorf("waits %v, not %v to %v", got, want/2, want)
			} else {
				sum += got
			}
		}
		for range 10 {
			if got := b.next(); got < lastWait/2 || got > lastWait {
				t.Errorf("waits %v in the end", got)
			}
		}
		b.succeeded()
	}
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		if !l.allow("a") || l.allow("a") || !l.allow("b") {
			t.Error("once each, at first")
		}
		time.Sleep(limiterPeriod - time.Millisecond)
		if l.allow("a") {
			t.Error("again within a minute")
		}
		time.Sleep(time.Millisecond)
		if !l.allow("a") || l.allow("a") {
			t.Error("once more after it")
		}
		for i := range 3 * limiterSize {
			l.allow(fmt.Sprint(i))
		}
		if len(l.last) > limiterSize {
			t.Errorf("remembers %d things", len(l.last))
		}
	})
}

func TestLink(t *testing.T) {
	l := link{log: discard}
	for _, p := range []part{partPublish, partSubscribe, partRead} {
		if l.connected() {
			t.Errorf("connected before %s", p)
		}
		l.succeeded(p)
	}
	if !l.connected() {
		t.Error("not connected")
	}
	l.failed(partRead, errors.New("gone"))
	if l.connected() || l.lastError != "read: gone" {
		t.Error(l.lastError)
	}
	l.succeeded(partRead)
	if !l.connected() || l.lastError != "read: gone" {
		t.Error("the last error must be reported even after it was overcome")
	}
}
