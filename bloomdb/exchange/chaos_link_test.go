package exchange_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/linkfault"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// startLink puts a proxy before a server.
func startLink(t testing.TB, server *redistest.Server) (p *linkfault.Proxy, url string) {
	t.Helper()
	p, err := linkfault.Start("unix", server.Socket())
	testenv.Check(t, err)
	t.Cleanup(p.Close)
	return p, "redis://" + p.Addr()
}

func joinSite(t testing.TB, o bloomdb.Options, url string, x exchange.Options) *site {
	t.Helper()
	client, err := redisclient.Dial(url, redisclient.Options{})
	testenv.Check(t, err)
	return joinWith(t, o, client, x)
}

// joinWith is startSite with the client and the exchange's options chosen by the caller,
// and with the database's periodic work running as in a daemon.
func joinWith(t testing.TB, o bloomdb.Options, client *redisclient.Client, x exchange.Options) *site {
	t.Helper()
	db, err := bloomdb.Open(o)
	testenv.Check(t, err)
	return runSite(t, db, client, x)
}

// runSite connects an open database.
func runSite(t testing.TB, db *bloomdb.DB, client *redisclient.Client, x exchange.Options) *site {
	t.Helper()
	s := &site{t: t, db: db, client: client, stored: streams.New(client, db.Status().KeyID), done: make(chan struct{})}
	s.x = exchange.New(db, s.stored, x)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	work := make(chan struct{})
	go func() {
		defer close(work)
		if err := db.Run(ctx); err != nil {
			t.Errorf("Run of the database: %v", err)
		}
	}()
	go func() {
		defer close(s.done)
		if err := s.x.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		<-work
	}()
	t.Cleanup(s.stop)
	return s
}

// Redis on another continent, and an overloaded one: an answer takes 200 ms, then 2 s. The
// daemon's own timeouts must allow it.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link, url := startLink(t, server)
	link.Set(linkfault.Fault{Delay: 100 * time.Millisecond})
	a := joinSite(t, siteOptions(t.TempDir(), "a"), url, exchange.Options{})
	b := joinSite(t, siteOptions(t.TempDir(), "b"), server.URL(), exchange.Options{})
	a.awaitConnected()
	traffic(t, a, b, func(i int) {
		if i == 20 {
			link.Set(linkfault.Fault{Delay: time.Second})
		}
	})
	expectNewcomer(t, server.URL())
	for _, s := range []*site{a, b} {
		for _, o := range s.x.Status().Sites {
			if o.Gaps != 0 || o.Refused != nil {
				t.Errorf("%s of %s: %+v", s.db.Status().Site, o.Site, o)
			}
		}
	}
}

// Connections end in the middle of an answer, at random places.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	server := redistest.Start(t)
	linkA, urlA := startLink(t, server)
	linkB, urlB := startLink(t, server)
	a, b := startSites(t, urlA, urlB)
	traffic(t, a, b, func(i int) {
		after := 1 + random.Int64N(2_000)
		linkA.Set(linkfault.Fault{CutAfter: after})
		linkB.Set(linkfault.Fault{CutAfter: after / 2})
		if i == 39 {
			for _, s := range []*site{a, b} { // triggered by the next heartbeat at the latest
				testenv.Eventually(t, "a connection is cut", func() bool { return s.x.Status().LastError != "" })
			}
			linkA.Set(linkfault.Fault{})
			linkB.Set(linkfault.Fault{})
		}
	})
	expectNewcomer(t, server.URL())
}

// Commands arrive, but their answers are lost. A repeated command must not add a second entry.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link, url := startLink(t, server)
	a, b := startSites(t, url+impatient, server.URL())
	a.awaitConnected()
	traffic(t, a, b, func(i int) {
		switch i % 10 {
		case 3:
			link.Set(linkfault.Fault{StallDown: true})
		case 6:
			testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected })
			link.Reset()
			link.Set(linkfault.Fault{})
		}
	})
	expectNewcomer(t, server.URL())
	if st := b.of("a"); st.Gaps != 0 || st.Refused != nil {
		t.Errorf("%+v", st)
	}
}

// A firewall forgets the connections of both sites in turn.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	linkA, urlA := startLink(t, server)
	linkB, urlB := startLink(t, server)
	a, b := startSites(t, urlA+impatient, urlB+impatient)
	a.awaitConnected()
	b.awaitConnected()
	traffic(t, a, b, func(i int) {
		switch i % 10 {
		case 3:
			linkA.HalfOpen()
		case 8:
			linkB.HalfOpen()
		}
	})
	expectNewcomer(t, server.URL())
}

// The link is down for more than a day, by the sites' clocks, while mail is counted again
// and again. The waiting data is bounded by the number of distinct messages: an absolute
// value replaces the earlier one.
func TestAwayForADay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	link, url := startLink(t, server)
	var passed atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	join := func(name, url string) *site {
		o := siteOptions(t.TempDir(), name)
		o.Now = now
		return joinSite(t, o, url, exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond})
	}
	a, b := join("a", url), join("b", server.URL())
	a.awaitConnected()
	const mails, times = 300, 100
	up := func(times uint32, format string) int64 {
		before, _ := link.Bytes()
		for range times {
			for i := range mails {
				a.count(mail(format, i), 1)
			}
		}
		link.Set(linkfault.Fault{})
		testenv.Eventually(t, "the counts arrive", func() bool { return b.counts(mail(format, mails-1)) == uint64(times) })
		awaitLevel(t, a, b)
		after, _ := link.Bytes()
		return after - before
	}
	cut := func() {
		link.Set(linkfault.Fault{Refuse: true})
		link.Reset()
		testenv.Eventually(t, "the fault is noticed", func() bool { return !a.x.Status().Connected })
	}
	cut()
	once := up(1, "once %d")
	cut()
	a.report(mail("reported while away"))
	passed.Store(int64(26 * time.Hour))
	often := up(times, "often %d")
	if often > times/10*once { // larger values take more bits
		t.Errorf("%d mails counted once took %d bytes, counted %d times %d bytes", mails, once, times, often)
	}
	testenv.Eventually(t, "the report arrives", func() bool { return b.lists(mail("reported while away")) })
	for i := range mails {
		if n := b.counts(mail("often %d", i)); n != times {
			t.Fatalf("mail %d was counted %d times", i, n)
		}
	}
	t.Logf("%d mails: %d bytes counted once, %d bytes counted %d times", mails, once, often, times)
}
