package follower

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestManyNames is the attack "many names": a holder of the federation key sends heartbeats under
// as many names as are followed. New sites are ignored, but only until an hour after he has left.
func TestManyNames(t *testing.T) {
	db, log := openSite(t, "a"), newLog()
	f := follow(db, log)
	sealer := &wire.Sealer{Ring: bloomdbtest.Ring}
	heartbeat := func(site string) {
		h := wire.Head{Type: wire.RecordHeartbeat, Site: site, Epoch: 1, Made: time.Now()}
		f.receiveHeartbeat(sealer.EncodeRecord(h, make([]byte, 16)), true)
	}
	for i := range streams.MaxSites + 10 {
		heartbeat(fmt.Sprint("fake", i))
	}
	if st := f.Status()[0]; time.Since(st.Known) > time.Minute {
		t.Errorf("known since %v, want now", st.Known)
	}
	heartbeat("b")
	if n := len(f.origins); n != streams.MaxSites || f.origins["b"] != nil {
		t.Fatalf("%d sites, the new one is %v", n, f.origins["b"])
	}
	for _, o := range f.origins { // the time of real news cannot be set
		o.since, o.heard = o.since.Add(-2*silentFor), o.heard.Add(-2*silentFor)
	}
	heartbeat("fake1")
	for _, site := range []string{"b", "c"} {
		heartbeat(site)
		if f.origins[site] == nil {
			t.Errorf("%s is ignored", site)
		}
	}
	if n := len(f.origins); n != streams.MaxSites || f.origins["fake1"] == nil {
		t.Errorf("%d sites, the one that is heard %v", n, f.origins["fake1"])
	}
}

// A site of which nothing is left is forgotten: it was renamed or removed, its data was dropped here,
// and its keys were deleted from Redis. One that has only just appeared is kept, and so is one with
// data.
func TestGoneSiteIsForgotten(t *testing.T) {
	db, log := openSite(t, "a"), newLog()
	f := follow(db, log)
	other := openSite(t, "held")
	bloomdbtest.Report(t, other, 1)
	bloomdbtest.Apply(t, db, bloomdbtest.Drain(t, other)...)
	sealer := &wire.Sealer{Ring: bloomdbtest.Ring}
	for _, site := range []string{"gone", "held", "fresh"} {
		h := wire.Head{Type: wire.RecordHeartbeat, Site: site, Epoch: 1, Made: time.Now()}
		f.receiveHeartbeat(sealer.EncodeRecord(h, make([]byte, 16)), true)
		if o := f.origins[site]; site != "fresh" { // the time of real news cannot be set
			o.since, o.heard = o.since.Add(-2*goneFor), o.heard.Add(-2*goneFor)
		}
	}
	look(t, f)
	if f.origins["gone"] != nil || f.origins["held"] == nil || f.origins["fresh"] == nil {
		t.Errorf("gone %v, held %v, fresh %v", f.origins["gone"], f.origins["held"], f.origins["fresh"])
	}
}

// crowded is a transport with so many invented heads that no site is among those returned.
type crowded struct{ *streamstest.Connection }

func (crowded) Heads(context.Context) ([]streams.Head, int, error) { return nil, streams.MaxSites, nil }

// A site whose head is not among those returned is kept: its snapshot may be being read.
func TestCrowdedOutSiteIsKept(t *testing.T) {
	f := follow(openSite(t, "a"), newLog())
	h := wire.Head{Type: wire.RecordHeartbeat, Site: "away", Epoch: 1, Made: time.Now()}
	f.receiveHeartbeat((&wire.Sealer{Ring: bloomdbtest.Ring}).EncodeRecord(h, make([]byte, 16)), false)
	o := f.origins["away"]
	o.since, o.heard = o.since.Add(-2*goneFor), o.heard.Add(-2*goneFor)
	f.streams = crowded{&streamstest.Connection{}}
	if testenv.Check(t, f.readHeads(t.Context())); f.origins["away"] == nil {
		t.Error("the site is forgotten")
	}
}
