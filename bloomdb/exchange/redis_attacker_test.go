package exchange_test

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// How long the attack lasts: in go test, and if SPAMBLOOM_SOAK is set.
const (
	attackTime     = 5 * time.Second
	attackTimeSoak = 10 * time.Minute
)

// A client with the password of Redis but no key sends every command permitted to its user, on
// every key, with torn, forged or copied records. Meanwhile five sites are restarted one by one.
// After the client has left, these sites have the same data as five undisturbed sites, and none
// in another epoch or under another name.
func TestAttackerWithoutKey(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	disturbed := newFederation(t)
	a := newAttacker(t, disturbed)
	a.begin(2)
	disturbed.work(attackLasts())
	a.leave()
	left := time.Now()
	disturbed.round() // a site also publishes afterwards

	disturbed.settle()
	healed := time.Since(left)

	disturbed.expectUndisturbed()
	t.Logf("%d commands, %d of them refused by Redis; %d rounds of reports; the streams were moved aside %v times; all data had arrived again after %v",
		a.given.Load(), a.refused.Load(), disturbed.rounds, disturbed.moved(), healed.Round(time.Second))
}

// An impostor answers in the place of Redis. It knows the password of Redis, but no key. Five sites
// report meanwhile, are restarted, and end each time. After the impostor has left, they have the same
// data as five undisturbed sites.
func TestImpostorOfRedis(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "redis-server")
	var liar *impostor
	disturbed := newFederationBehind(t, func(server *redistest.Server) string {
		liar = newImpostor(t, server.Socket())
		return "redis://spambloom:geheim@" + liar.address()
	})
	disturbed.work(attackLasts())
	liar.leave()
	left := time.Now()
	disturbed.round()
	disturbed.settle()
	healed := time.Since(left)
	disturbed.expectUndisturbed()
	t.Logf("%d lies; %d rounds of reports; all data had arrived again after %v", liar.lies.Load(), disturbed.rounds, healed.Round(time.Second))
}

// attackLasts returns how long an attack lasts.
func attackLasts() time.Duration {
	if os.Getenv("SPAMBLOOM_SOAK") != "" {
		return attackTimeSoak
	}
	return attackTime
}

// work reports at all sites, and restarts them one by one.
func (f *federation) work(lasts time.Duration) {
	for ends := time.Now().Add(lasts); time.Now().Before(ends); {
		f.round()
		if n := f.rounds; n%15 == 0 {
			f.restart(n / 15 % len(f.sites))
		}
		time.Sleep(lasts / 100) // the traffic's pace
	}
}

// expectUndisturbed compares the sites with those of a federation that nobody has disturbed.
func (f *federation) expectUndisturbed() {
	f.t.Helper()
	quiet := newFederation(f.t)
	for range f.rounds {
		quiet.round()
	}
	quiet.settle()
	for i, s := range f.sites {
		want := quiet.verdicts(i)
		for j, got := range f.verdicts(i) {
			if got != want[j] {
				f.t.Errorf("%s has %s, undisturbed %s", s.db.Status().Site, got, want[j])
			}
		}
		f.expectOneEpoch(i)
		if e := s.x.Status().LastError; strings.Contains(e, nameTaken) {
			f.t.Errorf("%s stopped publishing: %s", s.db.Status().Site, e)
		}
	}
}

// federation is five sites that list each other as peers, and connect as the documented
// user to a Redis of their own.
type federation struct {
	t      *testing.T
	server *redistest.Server
	user   string // URL
	sites  []*site
	opened []bloomdb.Options
	epochs []uint64 // in which they began
	rounds int
}

func newFederation(t *testing.T) *federation {
	return newFederationBehind(t, func(server *redistest.Server) string { return "unix://spambloom:geheim@" + server.Socket() })
}

// newFederationBehind starts sites that connect to the URL that is made for their Redis.
func newFederationBehind(t *testing.T, url func(*redistest.Server) string) *federation {
	f := &federation{t: t, server: redistest.Start(t)}
	admin := f.server.Client()
	defer admin.Close()
	testenv.Check(t, admin.Do(t.Context(), aclLines(t, "geheim")[0]...).Err())
	f.user = url(f.server)
	members := make(wire.Members)
	for i := range 5 {
		o := siteOptions(t.TempDir(), fmt.Sprintf("m%d", i))
		public, private, err := ed25519.GenerateKey(nil)
		testenv.Check(t, err)
		o.SigningKey, o.Members = private, members
		members[o.Site] = wire.Member{Keys: []ed25519.PublicKey{public}}
		f.opened = append(f.opened, o)
	}
	for _, o := range f.opened {
		s := startSiteWith(t, o, f.user)
		epoch, _ := s.db.Head()
		f.sites, f.epochs = append(f.sites, s), append(f.epochs, epoch)
	}
	return f
}

// restart stops a site and starts it again with its data on disk.
func (f *federation) restart(i int) {
	f.sites[i].stop()
	f.sites[i] = startSiteWith(f.t, f.opened[i], f.user)
}

// round makes a report, a revocation and a few counts at every site, the same in every
// federation.
func (f *federation) round() {
	for i, s := range f.sites {
		s.report(mail("%d of %d", f.rounds, i))
		if f.rounds%4 == 0 {
			s.revoke(mail("%d of %d", f.rounds, i))
		}
		s.count(mail("bulk %d", f.rounds%50), uint32(i+1))
	}
	f.rounds++
}

// verdicts returns a site's verdict on every message of the rounds.
func (f *federation) verdicts(i int) (all []string) {
	for n := range f.rounds {
		for of := range f.sites {
			e := f.sites[i].db.Judge(mail("%d of %d", n, of))
			all = append(all, fmt.Sprintf("%d of %d: %v", n, of, e.Listed))
		}
	}
	for n := range min(f.rounds, 50) {
		all = append(all, fmt.Sprintf("bulk %d: %d", n, f.sites[i].counts(mail("bulk %d", n))))
	}
	return all
}

// settle waits until every site holds all data of every other one.
func (f *federation) settle() {
	f.t.Helper()
	for i, s := range f.sites {
		for j, of := range f.sites {
			if i == j {
				continue
			}
			name := of.db.Status().Site
			isLevel := func() bool {
				_, pending, err := of.db.NextDelta(true)
				epoch, seq := of.db.Head()
				st := s.of(name)
				return !pending && err == nil && st.Applied == streams.At(epoch, seq) && st.Lag == 0 && st.Gaps == 0 && st.Stale == nil && cellsOf(s.db, name, epoch) == of.db.Status().Sites[0].Cells
			}
			if !testenv.Becomes(isLevel) {
				f.t.Fatalf("%s does not hold all data of %s: %+v; status of the other site: %+v", s.db.Status().Site, name, s.of(name), of.x.Status())
			}
		}
	}
}

// cellsOf returns the number of bits and cells that a database holds of a site's epoch.
func cellsOf(db *bloomdb.DB, site string, epoch uint64) int64 {
	for _, s := range db.Status().Sites {
		if s.Site == site && s.Epoch == epoch {
			return s.Cells
		}
	}
	return 0
}

// expectOneEpoch checks that a site is still in its first epoch, and that it holds the others in
// their first epochs and nothing else.
func (f *federation) expectOneEpoch(i int) {
	f.t.Helper()
	held := make(map[string][]uint64)
	for _, s := range f.sites[i].db.Status().Sites {
		held[s.Site] = append(held[s.Site], s.Epoch)
	}
	for j, of := range f.sites {
		if name := of.db.Status().Site; !slices.Equal(held[name], []uint64{f.epochs[j]}) {
			f.t.Errorf("%s is held by m%d in the epochs %v, but began in %d", name, i, held[name], f.epochs[j])
		}
	}
	if len(held) != len(f.sites) {
		f.t.Errorf("m%d holds %d sites: %v", i, len(held), held)
	}
}

// moved returns the number of times that each site's stream was moved aside.
func (f *federation) moved() (times []int64) {
	for _, s := range f.sites {
		times = append(times, timesMoved(s.x))
	}
	return times
}
