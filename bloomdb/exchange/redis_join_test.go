package exchange_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// dataset is the data of the ten sites of a federation, each with a tenth of it.
type dataset struct {
	sites            int
	reports, counted int // of each site
}

// options returns the options of a member of such a federation.
func (k dataset) options(dir, name string) bloomdb.Options {
	o := siteOptions(dir, name)
	o.Reports.Capacity = int64(max(10_000, 5*k.sites*k.reports)) // all data fits into one of five generations
	o.Counts.Capacity = int64(max(10_000, k.counted))
	return o
}

// publish starts one site, adds its part of the data, and stops it once all of that is in
// Redis, with a snapshot. The heartbeat that announces the last delta may be missing.
func (k dataset) publish(t testing.TB, url string, number int) {
	t.Helper()
	name := fmt.Sprintf("site%d", number)
	db, err := bloomdb.Open(k.options(t.TempDir(), name))
	testenv.Check(t, err)
	k.fill(t, db, name)
	client, err := redisclient.Dial(url, redisclient.Options{})
	testenv.Check(t, err)
	s := runSite(t, db, client, exchange.Options{Interval: 50 * time.Millisecond, MaxInterval: 200 * time.Millisecond, Heartbeat: 300 * time.Millisecond})
	defer s.stop()
	s.awaitConnected()
	testenv.Eventually(t, name+" has published", func() bool {
		_, pending, err := s.db.NextDelta(true)
		return err == nil && !pending && !s.db.SnapshotDue() && s.x.Status().Snapshot != nil
	})
}

// fill adds a site's part of the data.
func (k dataset) fill(t testing.TB, db *bloomdb.DB, name string) {
	t.Helper()
	const users = 64 // they share the disk's syncs
	var filling sync.WaitGroup
	for user := range users {
		filling.Go(func() {
			for i := user; i < k.reports; i += users {
				if err := db.Report(campaign(name, i), bloomdb.ClassOther); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range k.counted {
		if err := db.Count(mail("bulk %d of "+name, i), 1); err != nil {
			t.Error(err)
		}
	}
	filling.Wait()
}

// campaign is spam with the maximum planned number of signatures for a report, and a sketch
// of a long text. The first signature is that of mail.
func campaign(site string, i int) signature.Set {
	set := mail("spam %d of "+site, i)
	for n := range 7 {
		part := signature.Signature{Kind: signature.KindAttachment}
		part.Digest = signature.Sum(part.Kind, fmt.Appendf(nil, "part %d of spam %d of %s", n, i, site))
		set.Signatures = append(set.Signatures, part)
	}
	words := signature.Sketch{Kind: signature.KindSketch}
	for pos := range uint32(120) {
		word := signature.Sum(signature.KindSketch, fmt.Appendf(nil, "word %d of spam %d of %s", pos, i, site))
		hash := binary.BigEndian.Uint64(word[:])
		words.Keys = append(words.Keys, signature.Feature{Hash: hash, Pos: pos})
		if pos%4 == 0 {
			words.Anchors = append(words.Anchors, signature.Feature{Hash: hash + 1, Pos: pos})
		}
	}
	set.Sketches = []signature.Sketch{words}
	return set
}

// A site that joins a federation quickly receives the data of weeks: from the snapshots of the
// other sites, and from later deltas in their streams.
func TestNewSiteJoins(t *testing.T) {
	k := dataset{sites: 10, reports: 50, counted: 3000}
	url := redistest.Start(t).URL()
	for i := range k.sites {
		k.publish(t, url, i)
	}
	k.join(t, url).stop()
}

// join makes a new site join, and checks its data once it is level.
func (k dataset) join(t testing.TB, url string) *site {
	t.Helper()
	late := joinSite(t, k.options(t.TempDir(), "late"), url, exchange.Options{})
	testenv.Eventually(t, "the new site is level", func() bool { return late.isLevelWith(k.sites) })
	for i := range k.sites {
		name := fmt.Sprintf("site%d", i)
		for j := 0; j < k.reports; j += 1 + k.reports/50 {
			if !late.lists(mail("spam %d of "+name, j)) {
				t.Errorf("spam %d of %s is not listed", j, name)
			}
		}
		for j := 0; j < k.counted; j += 1 + k.counted/50 {
			if n := late.counts(mail("bulk %d of "+name, j)); n < 1 {
				t.Errorf("bulk %d of %s was counted %d times", j, name, n)
			}
		}
	}
	return late
}

// isLevelWith reports whether a site is level with that many others.
func (s *site) isLevelWith(others int) bool {
	sites := s.x.Status().Sites
	for _, o := range sites {
		if o.Lag > 0 || o.Loading != nil || o.Applied == (streams.Position{}) || s.db.Wanting(o.Site) {
			return false
		}
	}
	return len(sites) == others
}
