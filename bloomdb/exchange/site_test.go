package exchange_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/follower"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

var testKey = [32]byte{1, 2, 3}

// site is a database with its exchange, as in a daemon.
type site struct {
	t      testing.TB
	db     *bloomdb.DB
	x      *exchange.Exchange
	client *redisclient.Client
	stored *streams.Redis // what is stored in Redis
	cancel context.CancelFunc
	done   chan struct{}
}

// siteOptions are small and fast.
func siteOptions(dir, name string) bloomdb.Options {
	return bloomdb.Options{
		Dir: dir, Site: name, Key: testKey, Exchange: true,
		Reports: bloomdb.ReportOptions{Capacity: 10_000},
		Counts:  bloomdb.CountOptions{Capacity: 10_000},
	}
}

// startSite opens or reopens the site in dir and connects it to the Redis at url.
func startSite(t testing.TB, dir, name, url string) *site {
	t.Helper()
	return startSiteWith(t, siteOptions(dir, name), url)
}

// startSites starts the sites a and b, in new folders, each with its own link to Redis.
func startSites(t testing.TB, urlA, urlB string) (a, b *site) {
	t.Helper()
	return startSite(t, t.TempDir(), "a", urlA), startSite(t, t.TempDir(), "b", urlB)
}

// startPair starts a Redis and the sites a and b.
func startPair(t *testing.T) (redis *redistest.Server, a, b *site) {
	t.Helper()
	redis = redistest.Start(t)
	a, b = startSites(t, redis.URL(), redis.URL())
	return redis, a, b
}

func startSiteWith(t testing.TB, o bloomdb.Options, url string) *site {
	t.Helper()
	db, err := bloomdb.Open(o)
	testenv.Check(t, err)
	client, err := redisclient.Dial(url, redisclient.Options{})
	testenv.Check(t, err)
	stored := streams.New(client, keyring.ID(o.Key))
	x := exchange.New(db, stored, exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: 300 * time.Millisecond, SnapshotInterval: 100 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	s := &site{t: t, db: db, x: x, client: client, stored: stored, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if err := x.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

// calm are options with which a slow machine does not consider its link dead.
var calm = exchange.Options{Interval: 20 * time.Millisecond, Heartbeat: testenv.Patience}

// openDB opens a database without an exchange.
func openDB(t testing.TB, o bloomdb.Options) *bloomdb.DB {
	t.Helper()
	db, err := bloomdb.Open(o)
	testenv.Check(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// keys returns the federation's keys in Redis.
func (s *site) keys() *streams.Redis { return s.stored }

// nameTaken is the error of a site whose name another daemon uses.
const nameTaken = "another daemon publishes under this site's name"

// timesMoved returns how often a site's stream was moved aside.
func timesMoved(x *exchange.Exchange) int64 {
	moved := x.Status().MovedAside
	if moved == nil {
		return 0
	}
	return moved.Times
}

// stop stops the site like a daemon, and checks its state.
func (s *site) stop() {
	if s.client == nil {
		return
	}
	s.cancel()
	<-s.done
	if err := s.db.Check(); err != nil {
		s.t.Errorf("check: %v", err)
	}
	if err := s.db.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.client.Close()
	s.client = nil
}

// mail returns the signatures of one of many different messages.
func mail(format string, args ...any) signature.Set {
	sig := signature.Signature{Kind: signature.KindText}
	sig.Digest = signature.Sum(sig.Kind, fmt.Appendf(nil, format, args...))
	return signature.Set{Signatures: []signature.Signature{sig}, Counting: []signature.Signature{sig}}
}

func (s *site) report(m signature.Set) {
	s.t.Helper()
	if err := s.db.Report(m, bloomdb.ClassOther); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) revoke(m signature.Set) {
	s.t.Helper()
	if err := s.db.Revoke(m); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) count(m signature.Set, n uint32) {
	s.t.Helper()
	if err := s.db.Count(m, n); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) lists(m signature.Set) bool    { return s.db.Judge(m).Listed }
func (s *site) counts(m signature.Set) uint64 { return s.db.Judge(m).Count }

// listsAll reports whether all n mails of a series are listed.
func (s *site) listsAll(series string, n int) bool {
	for i := range n {
		if !s.lists(mail(series, i)) {
			return false
		}
	}
	return true
}

// of returns the site's status of another one.
func (s *site) of(name string) follower.SiteStatus {
	for _, o := range s.x.Status().Sites {
		if o.Site == name {
			return o
		}
	}
	return follower.SiteStatus{}
}

func (s *site) awaitAll(series string, n int) {
	s.t.Helper()
	name := s.db.Status().Site
	testenv.Eventually(s.t, fmt.Sprintf("%s lists all %d of %q", name, n, series), func() bool { return s.listsAll(series, n) })
}

func (s *site) awaitConnected() {
	s.t.Helper()
	testenv.Eventually(s.t, "the site is connected", func() bool { return s.x.Status().Connected })
}

// awaitLevel waits until every site has applied all deltas of every other one.
func awaitLevel(t testing.TB, sites ...*site) {
	t.Helper()
	testenv.Eventually(t, "all sites are level", func() bool {
		for _, s := range sites {
			for _, other := range sites {
				if s == other {
					continue
				}
				if _, pending, err := other.db.NextDelta(true); pending || err != nil {
					return false
				}
				epoch, seq := other.db.Head()
				e, q := s.db.Cursor(other.db.Status().Site)
				if seq > 0 && (e != epoch || q != seq) {
					return false
				}
			}
		}
		return true
	})
}

// copyDir makes a copy of a state folder.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	testenv.Check(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
