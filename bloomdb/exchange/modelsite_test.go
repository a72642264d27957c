package exchange_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/refusal"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
)

// epochState contains the mails reported, revoked and counted in one epoch of a state folder.
// Keys are numbers of mails.
type epochState struct {
	reported, revoked map[int]bool
	// counted is the maximum count, sure the minimum. The difference was counted recently:
	// a crash may lose counts not yet on disk.
	counted, sure, recent map[int]uint64
}

func newEpochState() *epochState {
	return &epochState{make(map[int]bool), make(map[int]bool), make(map[int]uint64), make(map[int]uint64), make(map[int]uint64)}
}

func (l *epochState) clone() *epochState {
	return &epochState{maps.Clone(l.reported), maps.Clone(l.revoked), maps.Clone(l.counted), maps.Clone(l.sure), maps.Clone(l.recent)}
}

// settle records that the counts so far are on disk.
func (l *epochState) settle() {
	for key, n := range l.recent {
		l.sure[key] += n
	}
	clear(l.recent)
}

// pastEpoch is an epoch that ended with the loss of its folder or with a restored backup.
type pastEpoch struct {
	*epochState
	carried bool            // the next epoch began with a backup of it
	held    map[string]bool // the sites that have all of it, and have not lost their own folder since
}

// modelSite is a site with the model's state of it.
type modelSite struct {
	t    *testing.T
	name string
	root string // of its folders
	n    int    // number of the current folder
	log  *streamstest.Log
	o    exchange.Options

	stale *bool // the model's

	wire   *streamstest.Connection
	db     *bloomdb.DB // nil: stopped
	x      *exchange.Exchange
	cancel context.CancelFunc
	done   *sync.WaitGroup

	current *epochState
	past    []*pastEpoch
}

func (s *modelSite) dir() string { return filepath.Join(s.root, strconv.Itoa(s.n)) }

// start starts the daemon.
func (s *modelSite) start() {
	o := siteOptions(s.dir(), s.name)
	o.Reports.Capacity, o.Counts.Capacity = 1000, 1000
	db, err := bloomdb.Open(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wire = &streamstest.Connection{Log: s.log}
	s.db, s.x, s.done = db, exchange.New(db, s.wire, s.o), new(sync.WaitGroup)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.done.Go(func() { s.x.Run(ctx) })
	s.done.Go(func() { db.Run(ctx) })
}

// stop stops it like SIGTERM.
func (s *modelSite) stop() {
	s.end()
	s.current.settle()
}

func (s *modelSite) end() {
	s.cancel()
	s.done.Wait()
	if err := s.db.Close(); err != nil {
		s.t.Fatalf("%s: close: %v", s.name, err)
	}
	s.db = nil
}

// crash is kill -9: the next start uses the folder as it is now. Meanwhile the other
// goroutines are at rest, perhaps in the middle of a command.
func (s *modelSite) crash() {
	synctest.Wait()
	next := filepath.Join(s.root, strconv.Itoa(s.n+1))
	if err := os.CopyFS(next, os.DirFS(s.dir())); err != nil {
		s.t.Fatal(err)
	}
	clear(s.current.recent)
	s.end() // this writes to the abandoned folder
	os.RemoveAll(s.dir())
	s.n++
}

func (s *modelSite) report(key int) {
	if err := s.db.Report(mail("mail %d", key), bloomdb.ClassOther); err != nil {
		s.t.Fatal(err)
	}
	s.current.reported[key] = true
}

func (s *modelSite) revoke(key int) {
	if err := s.db.Revoke(mail("mail %d", key)); err != nil {
		s.t.Fatal(err)
	}
	s.current.revoked[key] = true
}

func (s *modelSite) count(key int, n uint32) {
	if err := s.db.Count(mail("mail %d", key), n); err != nil {
		s.t.Fatal(err)
	}
	s.current.counted[key] += uint64(n)
	s.current.recent[key] += uint64(n)
}

// loses begins another epoch: empty, or with a backup made when the content was next. All
// other sites have all data of the ending epoch.
func (s *modelSite) loses(next *epochState, carried bool, others []*modelSite) {
	held := make(map[string]bool)
	for _, o := range others {
		held[o.name] = o != s
		for _, p := range o.past {
			p.held[s.name] = false // it has to receive them again, if possible
		}
	}
	s.past = append(s.past, &pastEpoch{s.current, carried, held})
	s.current = next
}

// expectation is the required and permitted state of a mail at a site.
type expectation struct {
	reported                bool // required
	mayReported, mayRevoked bool
	least, most             uint64
}

// expects returns the state that a site should have of a mail from the epochs of a site,
// which may be itself.
func (s *modelSite) expects(of *modelSite, key int, k *expectation) {
	if s == of { // a site does not receive its own data
		k.add(of.current, key, true)
		k.least += of.current.sure[key]
		k.most += of.current.counted[key]
		return
	}
	most := uint64(0) // counts of an epoch and of those restored into it count once
	for _, p := range of.past {
		k.add(p.epochState, key, p.held[s.name])
		most = max(most, p.counted[key])
		if p.carried {
			continue
		}
		k.most += most
		most = 0
		if p.held[s.name] {
			k.least += p.sure[key]
		}
	}
	k.add(of.current, key, true)
	k.least += of.current.sure[key]
	k.most += max(most, of.current.counted[key])
}

func (k *expectation) add(l *epochState, key int, must bool) {
	k.mayReported = k.mayReported || l.reported[key]
	k.mayRevoked = k.mayRevoked || l.revoked[key]
	k.reported = k.reported || must && l.reported[key]
}

// isContested reports whether all sites have received the reports and revocations of a mail, and
// no lost epoch had others. Then the newest one decides at every site.
func isContested(sites []*modelSite, key int) bool {
	reported, revoked := false, false
	for _, of := range sites {
		reported, revoked = reported || of.current.reported[key], revoked || of.current.revoked[key]
		for _, p := range of.past {
			if p.reported[key] || p.revoked[key] {
				return false
			}
		}
	}
	return reported && revoked
}

// check compares the site's data with the expectation, and with the data of the first site.
func (s *modelSite) check(sites []*modelSite, keys int) {
	for key := range keys {
		if first := sites[0].db.Judge(mail("mail %d", key)).Listed; isContested(sites, key) && s.db.Judge(mail("mail %d", key)).Listed != first {
			s.t.Errorf("mail %d: listed at %s: %v, at %s: %v", key, sites[0].name, first, s.name, !first)
		}
		var k expectation
		for _, of := range sites {
			s.expects(of, key, &k)
		}
		e := s.db.Judge(mail("mail %d", key))
		switch {
		case k.reported && !k.mayRevoked && !e.Listed:
			s.t.Errorf("%s lost mail %d", s.name, key)
		case !k.mayReported && e.Listed:
			s.t.Errorf("%s invented mail %d: %+v", s.name, key, k)
		}
		if e.Count < k.least || e.Count > k.most {
			s.t.Errorf("%s counts mail %d %d times, not %d to %d", s.name, key, e.Count, k.least, k.most)
		}
	}
	for _, of := range sites {
		if of != s {
			s.checkPart(of)
		}
	}
}

// checkPart compares the site's copy of another site's epoch with the original: as many
// bits and cells, and no gap.
func (s *modelSite) checkPart(of *modelSite) {
	epoch, _ := of.db.Head()
	if cells, own := cellsOf(s.db, of.name, epoch), of.db.Status().Sites[0].Cells; cells != own {
		s.t.Errorf("%s holds %d bits and cells of %s, which has %d", s.name, cells, of.name, own)
	}
	for _, o := range s.x.Status().Sites {
		refused := o.Refused
		if s.stale != nil && *s.stale {
			delete(refused, string(refusal.Replayed))
		}
		if o.Site == of.name && (o.Lag != 0 || o.Gaps != 0 || len(refused) > 0 || o.Clock) {
			s.t.Errorf("%s of %s: %+v", s.name, of.name, o)
		}
	}
}

// level reports whether the site has received all data of another one, and no gap waits for
// a snapshot.
func (s *modelSite) level(of *modelSite) bool {
	epoch, _ := of.db.Head()
	for _, o := range s.x.Status().Sites {
		if o.Site == of.name && o.Lag == 0 && o.Gaps == 0 {
			return cellsOf(s.db, of.name, epoch) == of.db.Status().Sites[0].Cells
		}
	}
	return false
}
