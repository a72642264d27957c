package federation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/linkfault"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// federation is a set of daemons that share a Redis, each over its own link.
type federation struct {
	t         *testing.T
	random    *rand.Rand
	redis     *harness.Redis
	sites     []*harness.Site
	links     []*linkfault.Proxy
	addresses []atomic.Pointer[string] // of the milters
	clients   []*client.Client
	down      [][]outage // of each daemon
	key       string     // file of the federation's key
	deck      []int      // kinds of faults not drawn yet
}

func startFederation(t *testing.T, sites int, random *rand.Rand) *federation {
	t.Helper()
	f := &federation{t: t, random: random, redis: harness.StartRedis(t),
		addresses: make([]atomic.Pointer[string], sites), down: make([][]outage, sites), key: filepath.Join(testenv.Dir(t), "key")}
	for i := range sites {
		link, err := linkfault.Start("tcp", fmt.Sprintf("127.0.0.1:%d", f.redis.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(link.Close)
		f.links = append(f.links, link)
		f.sites = append(f.sites, harness.NewSite(t, fmt.Sprintf("site%d", i+1), f.key, "redis://"+link.Addr()))
		f.start(i)
		f.clients = append(f.clients, f.sites[i].Client())
	}
	return f
}

func (f *federation) start(i int) {
	f.t.Helper()
	f.sites[i].Start()
	address := f.sites[i].Milter
	f.addresses[i].Store(&address)
}

// join adds a new daemon.
func (f *federation) join(name string) {
	f.t.Helper()
	s := harness.NewSite(f.t, name, f.key, f.redis.URL()).Start()
	f.sites = append(f.sites, s)
	f.clients = append(f.clients, s.Client())
}

// fault is a fault that can be caused and repaired.
type fault struct {
	name       string
	target     string // has at most one fault at a time
	begin, end func()
}

// draw picks a fault; each kind occurs once before any recurs.
func (f *federation) draw() fault {
	if len(f.deck) == 0 {
		f.deck = f.random.Perm(10)
	}
	kind := f.deck[0]
	f.deck = f.deck[1:]
	i := f.random.IntN(len(f.sites))
	link, target := f.links[i], "link "+strconv.Itoa(i+1)
	broken := func(name string, how linkfault.Fault) fault {
		return fault{name, target, func() { link.Set(how) }, func() { link.Set(linkfault.Fault{}) }}
	}
	switch kind {
	case 0, 1:
		begin := func() {
			f.down[i] = append(f.down[i], outage{killed: time.Now()})
			f.sites[i].Stop(syscall.SIGKILL)
		}
		end := func() {
			f.start(i)
			f.down[i][len(f.down[i])-1].up = time.Now()
		}
		return fault{"killed", "daemon " + strconv.Itoa(i+1), begin, end}
	case 2:
		return fault{"killed", "redis", f.redis.Kill, f.redis.Start}
	case 3:
		return fault{"killed and emptied", "redis", func() { f.redis.Kill(); f.redis.Empty() }, f.redis.Start}
	case 4:
		return fault{"refused", target, func() { link.Set(linkfault.Fault{Refuse: true}); link.Reset() }, func() { link.Set(linkfault.Fault{}) }}
	case 5:
		return broken("stalled", linkfault.Fault{Stall: true})
	case 6:
		return broken("stalled from the server", linkfault.Fault{StallDown: true})
	case 7:
		return fault{"half-open", target, link.HalfOpen, func() {}}
	case 8:
		return broken("slow", linkfault.Fault{Delay: 300 * time.Millisecond})
	default:
		return broken("cut", linkfault.Fault{CutAfter: 1 + f.random.Int64N(10_000)})
	}
}

// chaos causes random faults for a time, several at once, and finally repairs all.
func (f *federation) chaos(long time.Duration) (drawn map[string]int) {
	f.t.Helper()
	drawn = make(map[string]int)
	type active struct {
		fault
		until time.Time
	}
	now := map[string]active{}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < long; <-tick.C {
		for target, a := range now {
			if time.Now().After(a.until) {
				a.end()
				delete(now, target)
			}
		}
		if f.random.IntN(3) > 0 {
			continue
		}
		next := f.draw()
		if _, busy := now[next.target]; busy {
			continue
		}
		drawn[next.name]++
		next.begin()
		now[next.target] = active{next, time.Now().Add(time.Duration(f.random.Int64N(int64(4 * time.Second))))}
	}
	for _, a := range now {
		a.end()
	}
	return drawn
}

// Five daemons get mail and reports while they, Redis and the links between them fail. When
// all faults have ended, every site lists every acknowledged report and revocation, and all
// agree on the counts; so does a site that joins only then.
//
// Mails that a daemon acknowledged in its last second before kill -9 may be missing in the
// counts, at every site alike. Nothing else may be missing, and nothing is invented.
func TestFederationLosesNothing(t *testing.T) {
	t.Parallel()
	seed, long, pace := rand.Uint64(), 8*time.Second, 50*time.Millisecond
	if text := os.Getenv("SPAMBLOOM_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = given
	}
	if testenv.Soak() {
		long, pace = 9*time.Minute, 250*time.Millisecond
	}
	t.Logf("SPAMBLOOM_SEED=%d", seed)
	f := startFederation(t, 5, rand.New(rand.NewPCG(seed, 0)))
	l := newAccounts(f.random, 20)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var flows sync.WaitGroup
	for i := range f.sites {
		u := &mailflow{accounts: l, site: i, address: &f.addresses[i], client: f.clients[i], random: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		flows.Go(func() { u.work(ctx, pace) })
	}
	drawn := f.chaos(long)
	stop()
	flows.Wait()
	quiet := time.Now()
	f.join("late")
	f.expectAgreement(l)
	t.Logf("faults %v; %d reports acknowledged, %d commands failed; agreed after %v of quiet",
		drawn, len(l.reports), len(l.refusals), time.Since(quiet).Round(time.Millisecond))
	for _, s := range f.sites {
		if code := s.Stop(syscall.SIGTERM); code != 0 {
			t.Errorf("%s ended with %d\n%s", s.Name, code, s.Log())
		}
	}
}

// expectAgreement waits for agreement, and compares it with the accounts.
func (f *federation) expectAgreement(l *accounts) {
	t := f.t
	t.Helper()
	for i, c := range f.clients {
		open := l.reports
		if !f.eventually(func() (err error) {
			if open, err = wrong(t.Context(), c, open); err == nil && len(open) > 0 {
				err = fmt.Errorf("%d of %d reports have not arrived, one of them should be %s", len(open), len(l.reports), open[0].verdict())
			}
			return err
		}) {
			f.logHistory(open[0])
			t.Fatalf("at %s; its log:\n%s", f.sites[i].Name, f.sites[i].Warnings())
		}
	}
	var counts []uint64
	if !f.eventually(func() (err error) {
		counts, err = l.agreed(t.Context(), f.clients)
		return err
	}) {
		t.FailNow()
	}
	l.expectCounts(t, counts, f.down)
	l.expectService(t, f.down)
	for _, s := range f.sites {
		if !f.eventually(func() error { return behind(s, t.Context()) }) {
			t.Fatalf("the log of %s:\n%s", s.Name, s.Warnings())
		}
	}
}

// logHistory prints what was answered about a message, and what the daemons logged of it.
func (f *federation) logHistory(r *report) {
	f.t.Helper()
	f.t.Log(strings.Join(r.answers, "\n"))
	for _, s := range f.sites {
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, r.id) || strings.Contains(line, `"msg":"ready"`) {
				f.t.Log(s.Name, line)
			}
		}
	}
}

// behind returns an error if a site's status reports a problem with the others.
func behind(s *harness.Site, ctx context.Context) error {
	status, err := client.Get(ctx, s.Client(), v1.Status)
	if err != nil {
		return err
	}
	var daemon struct{ Exchange exchange.Status }
	if err := json.Unmarshal(status.Daemon, &daemon); err != nil {
		return err
	}
	if !daemon.Exchange.Connected {
		return fmt.Errorf("%s is not connected: %s", s.Name, daemon.Exchange.LastError)
	}
	for _, other := range daemon.Exchange.Sites {
		if other.Lag > 0 || other.Gaps > 0 || len(other.Refused) > 0 {
			return fmt.Errorf("%s reports about %s: %+v", s.Name, other.Site, other)
		}
	}
	return nil
}

// eventually repeats until there is no error, and reports the last one.
func (f *federation) eventually(ask func() error) bool {
	f.t.Helper()
	deadline := time.After(testenv.Patience)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Errorf("still after %v: %v", testenv.Patience, err)
			return false
		}
	}
}
