package bloomdb_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// rollingSite is a site at some stage of its key change: in phase 0 it has the old key, in
// phase 1 both, in phase 2 the new one.
type rollingSite struct {
	name    string
	options bloomdb.Options // with the old key
	phase   int
	db      *bloomdb.DB
	known   [2][]fact // under the old and under the new key
	untold  [2][]fact
	streams [2][]wire.Delta
}

func (s *rollingSite) keyed() bloomdb.Options {
	switch s.phase {
	case 1:
		return rolledOver(s.options)
	case 2:
		return onlyNew(s.options)
	}
	return s.options
}

// under returns the database of the old key (0) or the new one (1); nil if there is none.
func (s *rollingSite) under(key int) *bloomdb.DB {
	switch s.phase*2 + key {
	case 0, 5:
		return s.db
	case 2:
		return s.db.Previous()
	case 3:
		return s.db
	}
	return nil
}

func (s *rollingSite) open(t *rapid.T) {
	var err error
	if s.db, err = bloomdbtest.TryOpen(s.keyed()); err != nil {
		t.Fatal(err)
	}
	for key := range 2 {
		if db := s.under(key); db != nil {
			var epoch, seq uint64
			if n := len(s.streams[key]); n > 0 {
				epoch, seq = s.streams[key][n-1].Epoch, s.streams[key][n-1].Seq
			}
			testenv.Check(t, db.Resume(epoch, seq))
		}
	}
}

// receive applies everything that another site has published under the keys that both have.
func (s *rollingSite) receive(t *rapid.T, from *rollingSite) {
	for key := range 2 {
		if db := s.under(key); db != nil {
			for _, d := range from.streams[key] {
				testenv.Check(t, db.Apply(d.Data, peers.Skipped))
			}
		}
	}
}

// lists returns the expected listing: that of the newest entry under the site's keys.
func (s *rollingSite) lists(message int, oldest int64) bool {
	newest := layout.Word(1)
	for key := range 2 {
		if s.under(key) == nil {
			continue
		}
		for _, f := range s.known[key] {
			if f.message == message && f.gen >= oldest {
				newest = max(newest, layout.NewWord(f.gen, top(hasRung(s.known[key]), message, f.gen)))
			}
		}
	}
	return newest.Rung()%2 == 0
}

type rollingWorld struct {
	*rapid.T
	t     *testing.T
	clock *bloomdbtest.Clock
	sites []*rollingSite
}

func (w *rollingWorld) step(s *rollingSite) {
	f := fact{gen: bloomdbtest.SettingsOf(s.db).Generation(layout.SpamFilter, w.clock.Now()), site: s.name, message: rapid.IntRange(0, 3).Draw(w.T, "message")}
	switch rapid.SampledFrom([]string{"report", "report", "report", "revoke", "exchange", "exchange", "period", "save", "crash", "roll"}).Draw(w.T, "what") {
	case "report":
		bloomdbtest.Report(w.t, s.db, f.message)
		s.record(f)
	case "revoke":
		f.revoked = true
		if err := s.db.Revoke(bloomdbtest.Message(f.message)); err != nil {
			w.Fatal(err)
		}
		s.record(f)
	case "exchange":
		w.publish(s)
	case "period":
		w.clock.Add(168 * time.Hour)
	case "save":
		if err := s.db.Save(); err != nil {
			w.Fatal(err)
		}
	case "crash":
		crash(w.t, s.db)
		w.open(s)
	case "roll":
		if s.phase == 2 {
			return
		}
		if err := s.db.Close(); err != nil {
			w.Fatal(err)
		}
		s.phase++
		w.open(s)
	}
}

// open starts a site, which then reads all streams of its keys.
func (w *rollingWorld) open(s *rollingSite) {
	s.open(w.T)
	for _, o := range w.sites {
		if o != s {
			s.receive(w.T, o)
		}
	}
}

// record adds a report or revocation by the site's users to the model.
func (s *rollingSite) record(f fact) {
	for key := range 2 {
		if s.under(key) != nil {
			f := f.after(s.known[key])
			s.known[key] = append(s.known[key], f)
			s.untold[key] = append(s.untold[key], f)
		}
	}
}

// publish transfers a site's changes to the others.
func (w *rollingWorld) publish(s *rollingSite) {
	for key := range 2 {
		db := s.under(key)
		if db == nil {
			continue
		}
		s.streams[key] = append(s.streams[key], bloomdbtest.Drain(w.t, db)...)
		for _, o := range w.sites { // a site without that key reads it from the stream later
			if o != s {
				o.known[key] = append(o.known[key], s.untold[key]...)
			}
		}
		s.untold[key] = nil
	}
	for _, o := range w.sites {
		if o != s {
			o.receive(w.T, s)
		}
	}
}

// After any reports and revocations at three sites that change the key at any time, one after
// the other, through crashes and new periods: each site lists the messages that the plain lists
// under its keys contain. It keeps all its data until it abandons the old key.
func TestRolloverModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := rollingWorld{T: rt, t: t, clock: bloomdbtest.NewClock()}
		defer func() {
			for _, s := range w.sites {
				if s.db != nil {
					s.db.Close()
				}
			}
		}()
		for i, name := range []string{"a", "b", "c"} {
			o := bloomdbtest.Options(t.TempDir(), name)
			o.Now = w.clock.Now
			s := &rollingSite{name: name, options: o, phase: rapid.IntRange(0, i).Draw(rt, "phase")}
			s.open(rt)
			w.sites = append(w.sites, s)
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "site")
			w.step(w.sites[i])
			for _, s := range w.sites {
				oldest := bloomdbtest.SettingsOf(s.db).Generation(layout.SpamFilter, w.clock.Now()) - int64(bloomdbtest.SettingsOf(s.db).Reports.Keep) + 1
				for n := range 4 {
					if got, want := s.db.Judge(bloomdbtest.Message(n)).Listed, s.lists(n, oldest); got != want {
						rt.Fatalf("site %s in phase %d lists %d: %v, want %v", s.name, s.phase, n, got, want)
					}
				}
			}
		}
		for _, s := range w.sites {
			if err := s.db.Check(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}
