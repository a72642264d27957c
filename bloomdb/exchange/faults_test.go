package exchange_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
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
	server := redistest.Start(t)
	server.Kill()
	a, b := startSites(t, server.URL(), server.URL())
	testenv.Eventually(t, "the fault is reported", func() bool { return a.x.Status().LastError != "" })
	if st := a.x.Status(); st.Connected || st.LastErrorAt == nil {
		t.Errorf("%+v", st)
	}
	traffic(t, a, b, func(i int) {
		if i == 30 {
			server.Start()
		}
	})
}

func TestConnectionsKilledInALoop(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.Client()
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
	expectNewcomer(t, server.URL())
	if st := b.of("a"); st.Gaps != 0 {
		t.Errorf("%+v", st)
	}
}

// SIGSTOP: the kernel still answers for Redis, so that only timeouts reveal it.
func TestRedisStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := startSites(t, server.URL()+impatient, server.URL()+impatient)
	traffic(t, a, b, func(i int) {
		switch i {
		case 5:
			server.Signal(syscall.SIGSTOP)
			testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected && !b.x.Status().Connected })
		case 30:
			server.Signal(syscall.SIGCONT)
		}
	})
	expectNewcomer(t, server.URL())
}

func TestRedisKilled(t *testing.T) {
	for name, persistence := range map[string][]string{
		"nothing kept":        nil,
		"all kept":            {"--appendonly", "yes", "--appendfsync", "always"},
		"an older state kept": {"--save", "3600 1000000"}, // saved below by hand
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, persistence...)
			a, b := startSites(t, server.URL(), server.URL())
			c := server.Client()
			defer c.Close()
			traffic(t, a, b, func(i int) {
				switch i {
				case 5:
					c.Save(t.Context())
				case 15:
					server.Kill()
				case 25:
					server.Start()
				}
			})
			expectNewcomer(t, server.URL())
		})
	}
}

func TestFlushAll(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.Client()
	defer c.Close()
	traffic(t, a, b, func(i int) {
		if i%10 == 9 {
			c.FlushAll(t.Context())
		}
	})
	expectNewcomer(t, server.URL())

	// Without traffic only the heartbeat can detect it.
	awaitLevel(t, a, b)
	c.FlushAll(t.Context())
	expectNewcomer(t, server.URL())
}

// Redis refuses the script with OOM. The waiting data is published when there is memory
// again.
func TestRedisOutOfMemory(t *testing.T) {
	t.Parallel()
	server, a, b := startPair(t)
	c := server.Client()
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
	server := redistest.Start(t)
	p := redistest.StartProxy(t, "unix", server.Socket())
	a, b := startSites(t, p.URL()+impatient, server.URL())
	a.awaitConnected()
	traffic(t, a, b, func(i int) {
		switch i {
		case 5:
			p.Swallow()
		case 20:
			p.SwallowAll()
			testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected })
		case 35:
			p.Heal()
		}
	})

	p.SwallowAll()
	a.stop() // Run returns although no answer ever comes
}

// A site that was cut off misses news that are not repeated: it reads the streams as soon
// as it is back.
func TestSubscribedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := redistest.StartProxy(t, "unix", server.Socket())
	a, b := startSites(t, server.URL(), p.URL())
	a.awaitConnected()
	b.awaitConnected()
	p.Refuse(true)
	p.Reset()
	a.report(mail("missed"))
	testenv.Eventually(t, "it is published", func() bool { _, seq := a.db.Head(); return seq > 0 })
	a.stop()
	if b.lists(mail("missed")) {
		t.Fatal("the site was not cut off")
	}
	p.Refuse(false)
	testenv.Eventually(t, "it arrives", func() bool { return b.lists(mail("missed")) })
}
