package bloomdb_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// siteWorld is a database that applies the deltas of three sites. Its results must equal those
// of a database that received only the deltas of the sites that are not muted.
type siteWorld struct {
	*rapid.T
	t       *testing.T
	clock   *bloomdbtest.Clock
	db      *bloomdb.DB
	own     []siteOp
	peers   map[string]*bloomdb.DB
	streams map[string][]wire.Delta // of all epochs, in order
}

var peerNames = []string{"b", "c", "d"}

// siteOp is a report, a revocation or a sighting.
type siteOp struct {
	what    string
	message int
	class   layout.Class
}

func drawOp(t *rapid.T) siteOp {
	return siteOp{
		rapid.SampledFrom([]string{"report", "report", "revoke", "count"}).Draw(t, "op"),
		rapid.IntRange(1, 4).Draw(t, "message"), rapid.SampledFrom(layout.Classes()).Draw(t, "class"),
	}
}

// do makes own reports without sketches, because the groups of a sketch that a report stores
// depend on the groups already stored.
func (w *siteWorld) do(db *bloomdb.DB, op siteOp) {
	set := bloomdbtest.Message(op.message)
	if bloomdbtest.OptionsOf(db).Site != "a" {
		set = wordy(op.message, words(100*op.message, 60)...)
	}
	var err error
	switch op.what {
	case "report":
		err = db.Report(set, op.class)
	case "revoke":
		err = db.Revoke(set)
	case "count":
		err = errors.Join(db.Count(set, uint32(op.message)), db.Maintain())
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *siteWorld) open(site, dir string) *bloomdb.DB {
	o := classOptions(dir, site)
	o.Now = w.clock.Now
	db, err := bloomdbtest.TryOpen(o)
	if err != nil {
		w.Fatal(err)
	}
	return db
}

// reopen opens the database again after a function of the test.
func (w *siteWorld) reopen() { w.db = w.open("a", bloomdbtest.OptionsOf(w.db).Dir) }

// receive applies the new deltas of a site. All deltas of a muted site are rejected.
func (w *siteWorld) receive(site string) {
	epoch, seq := w.db.Cursor(site)
	for _, d := range w.streams[site] {
		if d.Epoch < epoch || d.Epoch == epoch && d.Seq <= seq {
			continue
		}
		err := w.db.Apply(d.Data, peers.Next)
		if w.db.Muted(site) && !errors.Is(err, wire.ErrMuted) || !w.db.Muted(site) && err != nil {
			w.Fatalf("delta %s %d-%d: %v", site, d.Epoch, d.Seq, err)
		}
	}
}

func (w *siteWorld) step() {
	site := rapid.SampledFrom(peerNames).Draw(w.T, "site")
	var err error
	switch rapid.SampledFrom([]string{
		"own", "peer", "peer", "publish", "receive", "receive", "mute", "unmute", "drop", "save", "close", "kill", "epoch",
	}).Draw(w.T, "what") {
	case "own":
		op := drawOp(w.T)
		op.message += 10 // own rungs in answer to others remain when these are muted
		w.do(w.db, op)
		w.own = append(w.own, op)
	case "peer":
		w.do(w.peers[site], drawOp(w.T))
	case "publish":
		w.streams[site] = append(w.streams[site], bloomdbtest.Drain(w.t, w.peers[site])...)
	case "receive":
		w.receive(site)
	case "mute":
		err = w.db.Mute(site, true)
	case "unmute":
		err = w.db.Mute(site, false)
	case "drop":
		err = w.db.Drop(site)
	case "save":
		err = w.db.Save()
	case "close":
		err = w.db.Close()
		w.reopen()
	case "kill":
		crash(w.t, w.db)
		w.reopen()
	case "epoch": // the site loses its folder
		crash(w.t, w.peers[site])
		w.clock.Add(time.Second)
		w.peers[site] = w.open(site, w.t.TempDir())
	}
	if err != nil {
		w.Fatal(err)
	}
}

// check compares the database with one that never received deltas of the muted sites.
func (w *siteWorld) check() {
	ref := w.open("a", w.t.TempDir())
	defer ref.Close()
	for _, op := range w.own {
		w.do(ref, op)
	}
	gone := true // no data of muted sites
	for _, site := range peerNames {
		epoch, seq := w.db.Cursor(site)
		if w.db.Muted(site) {
			gone = gone && epoch == 0
			continue
		}
		for _, d := range w.streams[site] {
			if d.Epoch < epoch || d.Epoch == epoch && d.Seq <= seq {
				bloomdbtest.Apply(w.t, ref, d)
			}
		}
	}
	if err := errors.Join(w.db.Check(), sameAnswers(w.db, ref, 1, 2, 3, 4, 11, 12, 13, 14)); err != nil {
		w.Fatal(err)
	}
	if !gone {
		return
	}
	if err := w.sameStatus(ref); err != nil {
		w.Fatal(err)
	}
}

// sameStatus ignores muted sites without data.
func (w *siteWorld) sameStatus(ref *bloomdb.DB) error {
	muted := w.db.Keyspace().Store.View.Load().Trusted
	defer func() { _ = w.db.Keyspace().Store.Change(func(v *store.View) error { v.Trusted = muted; return nil }) }()
	_ = w.db.Keyspace().Store.Change(func(v *store.View) error { v.Trusted = &store.TrustedSites{}; return nil })
	return sameStatus(w.db, ref)
}

// Sites publish, are muted, unmuted and dropped in any order, through restarts and crashes. A
// muted site has no more effect than an unknown one. An unmuted one has the same effect as one
// that was never muted.
func TestSitesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := siteWorld{T: rt, t: t, clock: bloomdbtest.NewClock(), peers: make(map[string]*bloomdb.DB), streams: make(map[string][]wire.Delta)}
		w.db = w.open("a", t.TempDir())
		for _, site := range peerNames {
			w.peers[site] = w.open(site, t.TempDir())
		}
		defer func() {
			for _, db := range w.peers {
				db.Close()
			}
			w.db.Close()
		}()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			w.step()
		}
		w.check()
		for _, site := range slices.Sorted(slices.Values(peerNames)) {
			if err := w.db.Mute(site, false); err != nil {
				rt.Fatal(err)
			}
			w.receive(site)
		}
		w.check()
	})
}
