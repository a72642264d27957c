package bloomdb_test

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/outbox"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestTwoSites(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, a, 1)
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Count(t, a, 1, 17)
	bloomdbtest.Count(t, b, 1, 25)
	bloomdbtest.Report(t, b, 2)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	for _, db := range []*bloomdb.DB{a, b} {
		if e := db.Judge(bloomdbtest.Message(1)); !e.Listed || e.Sites != 2 || e.Count != 42 {
			t.Errorf("site %s: %+v", bloomdbtest.OptionsOf(db).Site, e)
		}
		if e := db.Judge(bloomdbtest.Message(2)); !e.Listed || e.Sites != 1 || e.Matches[0].Sites[0] != "b" {
			t.Errorf("site %s: %+v", bloomdbtest.OptionsOf(db).Site, e)
		}
	}
	testenv.Check(t, a.Revoke(bloomdbtest.Message(2)))
	bloomdbtest.Apply(t, b, bloomdbtest.Drain(t, a)...)
	if b.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("b did not apply a's revocation")
	}
	if tr := b.Explain(bloomdbtest.Message(2))[0]; len(tr.Revoked) != 1 || tr.Revoked[0].Site != "a" || tr.Spam[0].Site != "b" {
		t.Errorf("trace %+v", tr)
	}
	s := a.Status()
	if len(s.Sites) != 2 || s.Sites[0].Site != "a" || s.Sites[1].Site != "b" || s.Sites[1].Seq != 2 || s.Sites[1].Cells == 0 {
		t.Errorf("status %+v", s.Sites)
	}
	if len(bloomdbtest.Drain(t, a)) != 0 {
		t.Error("a delta although nothing changed")
	}
}

// The parts of other sites survive a restart, with the cursor.
func TestPartsSurvive(t *testing.T) {
	ao := bloomdbtest.Options(t.TempDir(), "a")
	a, b := bloomdbtest.Open(t, ao), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Count(t, b, 1, 100)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	testenv.Check(t, a.Close())
	a = bloomdbtest.Open(t, ao)
	if e := a.Judge(bloomdbtest.Message(1)); !e.Listed || e.Count != 100 {
		t.Errorf("after a restart: %+v", e)
	}
	published, _ := b.Head()
	if epoch, seq := a.Cursor("b"); epoch != published || seq != 2 {
		t.Errorf("cursor %d-%d", epoch, seq)
	}
	bloomdbtest.Report(t, b, 2)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, b)...)
	if !a.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("the next delta was not applied")
	}
}

func TestSequence(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	var d []wire.Delta
	for i := range 4 {
		bloomdbtest.Report(t, b, i)
		d = append(d, bloomdbtest.Drain(t, b)...)
	}
	bloomdbtest.Apply(t, a, d[0], d[0])
	if err := a.Apply(d[2].Data, peers.Next); !errors.Is(err, wire.ErrGap) || !strings.Contains(err.Error(), "the last one applied is 1") {
		t.Errorf("gap: %v", err)
	}
	if a.Judge(bloomdbtest.Message(2)).Listed {
		t.Error("a refused delta was applied")
	}
	testenv.Check(t, a.Apply(d[2].Data, peers.Lost))
	bloomdbtest.Apply(t, a, d[1]) // a duplicate: no effect
	if _, seq := a.Cursor("b"); seq != 3 || a.Status().Sites[1].Gaps != 1 {
		t.Errorf("cursor %d, gaps %d", seq, a.Status().Sites[1].Gaps)
	}
	if err := b.Apply(d[0].Data, peers.Next); err != nil {
		t.Errorf("own record: %v", err)
	}
}

func TestRefusedDeltas(t *testing.T) {
	open := func(site string, change func(o *bloomdb.Options)) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		change(&o)
		return bloomdbtest.Open(t, o)
	}
	a := open("a", func(o *bloomdb.Options) {})
	for name, tc := range map[string]struct {
		change func(o *bloomdb.Options)
		want   error
		text   string
	}{
		"another key":      {func(o *bloomdb.Options) { o.Key[9]++ }, wire.ErrFederation, keyring.ID(bloomdbtest.Key)},
		"another capacity": {func(o *bloomdb.Options) { o.Reports.Capacity = 90_000 }, layout.ErrParameters, "lines"},
		"another period":   {func(o *bloomdb.Options) { o.Reports.Period = time.Hour }, layout.ErrParameters, "604800 s"},
		"the future":       {func(o *bloomdb.Options) { c := bloomdbtest.NewClock(); c.Add(400 * time.Hour); o.Now = c.Now }, nil, "clocks differ"},
	} {
		b := open("b", tc.change)
		bloomdbtest.Report(t, b, 1)
		for _, d := range bloomdbtest.Drain(t, b) {
			err := a.Apply(d.Data, peers.Next)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(a.Status().Sites) != 1 || a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a rejected delta left a trace")
	}
	c := open("c", func(o *bloomdb.Options) { o.Counts.Capacity = 77_000 }) // another size
	bloomdbtest.Count(t, c, 1, 5)
	bloomdbtest.Apply(t, a, bloomdbtest.Drain(t, c)...)
	if a.Judge(bloomdbtest.Message(1)).Count != 5 {
		t.Error("counts of another size were not joined")
	}
}

// A delta with any byte changed, or cut anywhere, is rejected.
func TestTornDelta(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Count(t, b, 1, 40)
	d := bloomdbtest.Drain(t, b)[0]
	for cut := range d.Data {
		if err := a.Apply(d.Data[:cut], peers.Skipped); err == nil {
			t.Fatalf("cut at %d: no error", cut)
		}
		torn := bytes.Clone(d.Data)
		torn[cut] ^= 0x10
		if err := a.Apply(torn, peers.Skipped); err == nil {
			t.Fatalf("byte %d flipped: no error", cut)
		}
	}
	if a.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("a torn delta was applied")
	}
}

// A delta of all ones is rejected: a member may fill half of a generation.
func TestAllOnes(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	gen := bloomdbtest.SettingsOf(b).Generation(layout.SpamFilter, b.Now())
	sec := wire.DeltaSection{Target: layout.Target{Kind: layout.SpamFilter, Gen: gen}, Shape: layout.BitsShape(bloomdbtest.SettingsOf(b).SpamShape())}
	for pos := range min(sec.Shape.Size(layout.SpamFilter), outbox.MaxDeltaCells) {
		sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 1})
	}
	d := wire.Delta{Site: "b", Epoch: 1, Seq: 1}
	d.Data = sealer(b).EncodeDelta(d, 0, []wire.DeltaSection{sec})
	if err := a.Apply(d.Data, peers.Next); !errors.Is(err, wire.ErrCapped) {
		t.Errorf("all ones: %v, want ErrCapped", err)
	}
}

// Deltas arrive in any order, with losses and duplicates. A site that has received all of them
// judges like every other one.
func TestSitesConverge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c"}
		var dbs []*bloomdb.DB
		for _, n := range names {
			db, err := bloomdbtest.TryOpen(bloomdbtest.Options(t.TempDir(), n))
			if err != nil {
				rt.Fatal(err)
			}
			dbs = append(dbs, db)
			defer db.Close()
		}
		streams := make(map[int][]wire.Delta)
		counts := make(map[int]uint64)
		listed, revoked := make(map[int]bool), make(map[int]bool)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			i, n := rapid.IntRange(0, 2).Draw(rt, "site"), rapid.IntRange(0, 9).Draw(rt, "message")
			switch rapid.SampledFrom([]string{"report", "revoke", "count", "publish", "apply"}).Draw(rt, "what") {
			case "report":
				bloomdbtest.Report(t, dbs[i], n)
				listed[n] = true
			case "revoke":
				if err := dbs[i].Revoke(bloomdbtest.Message(n)); err != nil {
					rt.Fatal(err)
				}
				revoked[n] = true
			case "count":
				c := rapid.Uint32Range(1, 30).Draw(rt, "times")
				bloomdbtest.Count(t, dbs[i], n, c)
				counts[n] += uint64(c)
			case "publish":
				streams[i] = append(streams[i], bloomdbtest.Drain(t, dbs[i])...)
			case "apply": // any record, in any order; gaps are rejected
				if s := streams[i]; len(s) > 0 {
					d := s[rapid.IntRange(0, len(s)-1).Draw(rt, "record")]
					err := dbs[rapid.IntRange(0, 2).Draw(rt, "to")].Apply(d.Data, peers.Next)
					if err != nil && !errors.Is(err, wire.ErrGap) {
						rt.Fatal(err)
					}
				}
			}
		}
		for i, db := range dbs {
			streams[i] = append(streams[i], bloomdbtest.Drain(t, db)...)
		}
		for to, db := range dbs {
			for from := range dbs {
				if from != to {
					bloomdbtest.Apply(t, db, streams[from]...)
				}
			}
			if err := db.Check(); err != nil {
				rt.Fatal(err)
			}
			for n := range 10 {
				e := db.Judge(bloomdbtest.Message(n))
				want := listed[n]
				if listed[n] && revoked[n] { // the latest one decides; see TestLadderModel
					want = dbs[0].Judge(bloomdbtest.Message(n)).Listed
				}
				if e.Listed != want || e.Count < counts[n] || e.Count > counts[n]+60 {
					rt.Fatalf("site %s, message %d: listed %v, count %d; want %v and not %v, %d",
						bloomdbtest.OptionsOf(db).Site, n, e.Listed, e.Count, listed[n], revoked[n], counts[n])
				}
			}
		}
	})
}

// Reports with other parameters are rejected. The counts in the same delta are applied.
func TestCountsPassWhereReportsAreRefused(t *testing.T) {
	a := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a"))
	o := bloomdbtest.Options(t.TempDir(), "b")
	o.Reports.Capacity = 90_000
	b := bloomdbtest.Open(t, o)
	bloomdbtest.Report(t, b, 1)
	bloomdbtest.Count(t, b, 1, 30)
	refused := 0
	for _, d := range bloomdbtest.Drain(t, b) {
		if err := a.Apply(d.Data, peers.Skipped); errors.Is(err, layout.ErrParameters) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if e := a.Judge(bloomdbtest.Message(1)); refused != 1 || e.Listed || e.Count != 30 {
		t.Errorf("%d refused, %+v", refused, e)
	}
}

// TestNextGeneration is the attack "next generation": a fully trusted member revokes a message in
// the period after the current one. The newest generation decides, so no report here could list the
// message before that period begins. Such a delta is rejected until an hour before: clocks may
// differ by that much.
func TestNextGeneration(t *testing.T) {
	c := bloomdbtest.NewClock()
	open := func(site string) *bloomdb.DB {
		o := bloomdbtest.Options(t.TempDir(), site)
		o.Now = c.Now
		return bloomdbtest.Open(t, o)
	}
	a, b := open("a"), open("b")
	s := bloomdbtest.SettingsOf(a)
	m := bloomdbtest.Message(1)
	next := layout.Target{Kind: layout.RevokedFilter, Gen: s.Generation(layout.SpamFilter, a.Now()) + 1}
	seq := uint64(0)
	revoke := func(gen int64) error {
		sec := wire.DeltaSection{Target: layout.Target{Kind: layout.RevokedFilter, Gen: gen}, Shape: layout.BitsShape(bloomdbtest.SettingsOf(b).RevokedShape())}
		for _, h := range m.Signatures {
			for _, pos := range sec.Shape.Bits().Positions(bloomdbtest.Ring.ReportHash(h), nil) {
				sec.Cells = append(sec.Cells, filter.Cell{Pos: pos, Value: 1})
			}
		}
		slices.SortFunc(sec.Cells, func(x, y filter.Cell) int { return cmp.Compare(x.Pos, y.Pos) })
		sec.Cells = slices.Compact(sec.Cells)
		seq++
		d := wire.Delta{Site: "b", Epoch: 2, Seq: seq}
		d.Data = sealer(b).EncodeDelta(d, 0, []wire.DeltaSection{sec})
		return a.Apply(d.Data, peers.Skipped)
	}
	for _, gen := range []int64{next.Gen, next.Gen + 1, math.MaxInt64} {
		if err := revoke(gen); !errors.Is(err, layout.ErrClock) {
			t.Errorf("generation %d: %v", gen, err)
		}
	}
	bloomdbtest.Report(t, a, 1)
	if !a.Judge(m).Listed {
		t.Error("the report does not list it")
	}
	c.Add(s.Start(next).Sub(c.Now()) - 59*time.Minute)
	if err := revoke(next.Gen + 1); !errors.Is(err, layout.ErrClock) {
		t.Errorf("the generation after the next one: %v", err)
	}
	if err := revoke(next.Gen); err != nil {
		t.Errorf("59 minutes before the next generation: %v", err)
	}
	c.Add(time.Hour)
	bloomdbtest.Report(t, a, 1)
	if !a.Judge(m).Listed {
		t.Error("a report in the next generation does not list it")
	}
}

func TestRepeatedSections(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	sec := wire.DeltaSection{Target: layout.Target{Kind: layout.SpamFilter, Gen: bloomdbtest.SettingsOf(b).Generation(layout.SpamFilter, b.Now())}, Shape: layout.BitsShape(bloomdbtest.SettingsOf(b).SpamShape())}
	d := wire.Delta{Site: "b", Epoch: 2, Seq: 1}
	d.Data = sealer(b).EncodeDelta(d, 0, []wire.DeltaSection{sec, sec})
	if err := a.Apply(d.Data, peers.Next); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("two sections of one filter: %v", err)
	}
}

// A flood is published as several deltas, each below the limit.
func TestLargeDelta(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Counts.Capacity = 200_000
	a := bloomdbtest.Open(t, o)
	for n := range 60_000 {
		bloomdbtest.Count(t, a, n, uint32(n%40)+1)
	}
	deltas := bloomdbtest.Drain(t, a)
	if len(deltas) < 2 {
		t.Errorf("%d deltas", len(deltas))
	}
	total := 0
	for _, d := range deltas {
		total += len(d.Data)
		if len(d.Data) > wire.MaxDelta {
			t.Errorf("delta of %d bytes", len(d.Data))
		}
	}
	t.Logf("%d deltas, %.1f bits a counted message", len(deltas), float64(total)*8/60_000)
	b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	bloomdbtest.Apply(t, b, deltas...)
	for n := 0; n < 60_000; n += 500 {
		if got, want := b.Judge(bloomdbtest.Message(n)).Count, a.Judge(bloomdbtest.Message(n)).Count; got != want {
			t.Fatalf("message %d: count %d, at its site %d", n, got, want)
		}
	}
}
