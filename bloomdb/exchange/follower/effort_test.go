package follower

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// TestCostlyRecords is the attack "costly records": a fully trusted member that has filled its caps
// sends records of a few KiB that each take seconds. They must wait, in the news, in its stream and in
// its snapshot, and those of another site do not.
func TestCostlyRecords(t *testing.T) {
	a, b, c := openSite(t, "a"), openSite(t, "b"), openSite(t, "c")
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		f := follow(b, log)
		first, fromC := firstDelta(t, a), firstDelta(t, c)
		store(log, bloomdbtest.PublishSnapshot(t, a), first)
		log.Change(func(k streamstest.State) {
			k.Streams["c"] = streamstest.Stream{Entries: []streams.Entry{entryOf(fromC)}}
			k.Heads["a"], k.Heads["c"] = a.Heartbeat(0, 0), c.Heartbeat(0, 0)
		})
		f.receiveHeartbeat(a.Heartbeat(0, 0), true)
		f.receiveHeartbeat(c.Heartbeat(0, 0), true)
		costly := f.origins["a"]
		f.spend(costly, time.Now().Add(-time.Minute))
		news := func(d wire.Delta) News {
			return News{Head: wire.Head{Type: wire.RecordDelta, Site: d.Site, Epoch: d.Epoch, Seq: d.Seq}, Record: d.Data}
		}
		f.receiveNews(news(first))
		costly.snapshot, costly.isExhausted = streams.At(first.Epoch, first.Seq), true
		look(t, f)
		if costly.at != (streams.Position{}) || costly.loading != nil {
			t.Errorf("the site's records do not wait: %+v", f.Status())
		}
		f.receiveNews(news(fromC))
		look(t, f)
		if at := f.origins["c"].at; at != streams.At(fromC.Epoch, fromC.Seq) {
			t.Errorf("the other site's delta waits, at %v", at)
		}
		time.Sleep(effortShare * time.Minute)
		look(t, f)
		if costly.at != streams.At(first.Epoch, first.Seq) {
			t.Errorf("the site's records are not applied later: %+v", f.Status())
		}
	})
}

// The time that a site's records take is charged to it, and no others' forgeries are.
func TestEffortIsCharged(t *testing.T) {
	a, b, log := openSite(t, "a"), openSite(t, "b"), newLog()
	f := follow(b, log)
	first := firstDelta(t, a)
	store(log, bloomdbtest.PublishSnapshot(t, a), first)
	f.receiveHeartbeat(a.Heartbeat(0, 0), true)
	o := f.origins["a"]
	forged := entryOf(first)
	forged.Record = append(bytes.Clone(forged.Record[:len(forged.Record)-1]), 0, 1)
	forged.Size = len(forged.Record)
	if f.consume(o, forged); !o.effort.IsZero() {
		t.Error("a forged delta is charged")
	}
	o.read = streams.Position{}
	look(t, f)
	stream := o.effort
	if stream.IsZero() || !lists(b, 1) {
		t.Fatal("a delta is not charged")
	}
	o.gaps = 1
	f.receiveHeartbeat(a.Heartbeat(first.Seq, 0), true)
	look(t, f)
	if o.took == (streams.Position{}) || !o.effort.After(stream) {
		t.Errorf("a snapshot is not charged: %+v", f.Status())
	}
}

// TestCostlyNames is the attack "costly names": a holder of the federation key publishes without end under
// many names, so that each always has records to be read, which take time. Another site does not wait for
// a turn of each, nor if one of them has many cheap ones. A site whose own records take time is read, too.
func TestCostlyNames(t *testing.T) {
	f := follow(openSite(t, "b"), newLog())
	now := time.Now()
	add := func(site string, turn time.Duration) *origin {
		o := &origin{site: site, head: streams.At(2, 9), turn: turn}
		f.origins[site] = o
		return o
	}
	for i := range 300 {
		add(fmt.Sprintf("invented%d", i), 0)
	}
	add("cheap", time.Microsecond)
	add("a", time.Millisecond)
	far := add("far behind", 0)
	since, most := now, time.Duration(0)
	for turns := 0; turns < 1000 || far.turn == 0; turns++ {
		o, step := f.next(now)
		if step == nil {
			t.Fatal("no site has work")
		}
		most = max(most, now.Sub(since))
		took := effortTurn
		switch o.site {
		case "a":
			took, since = time.Millisecond, now
		case "cheap":
			took = time.Microsecond
		}
		now = now.Add(took)
		f.hadTurn(o, now, took)
		o.effort = now.Add((effortShare - 1) * took)
	}
	if most > 20*time.Second { // 80 turns
		t.Errorf("the other site has waited for %v", most)
	}
}
