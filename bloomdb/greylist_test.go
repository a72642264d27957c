package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// arrive handles a message like the milter, and returns the results. The envelope contains the
// recipients, separated by blanks.
func arrive(t testing.TB, db *bloomdb.DB, n int, envelope string, from uint64) (deferred, returned bool) {
	t.Helper()
	set, recipients := bloomdbtest.Message(n), strings.Split(envelope, " ")
	if returned = db.Returned(set, "s", recipients); !returned {
		bloomdbtest.Count(t, db, n, 1)
	}
	return db.Defer(set, db.Judge(set), "s", recipients, from), returned
}

// The fifth copy is deferred. Its retry passes and is not counted. Later copies of the same
// tuple count again, and are not deferred for four hours.
func TestGreylistOnce(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	for i, step := range []struct {
		after              time.Duration
		envelope           string
		deferred, returned bool
		count              uint64
	}{
		{0, "a", false, false, 1},
		{time.Second, "b", false, false, 2},
		{time.Second, "c", false, false, 3},
		{time.Second, "d", false, false, 4},
		{time.Second, "e", true, false, 5},
		{time.Second, "f", true, false, 6},
		{time.Minute, "e", false, true, 6},
		{time.Second, "e", false, false, 7}, // another copy, not a retry
		{time.Second, "e", false, false, 8},
		{time.Second, "f", false, true, 8},
		{10 * time.Minute, "f", false, false, 9},
		{time.Hour, "g", false, false, 10}, // seldom in these ten minutes
		{time.Second, "g", false, false, 11},
		{time.Second, "g", false, false, 12},
		{time.Second, "g", false, false, 13},
		{time.Second, "e", false, false, 14}, // often enough, but deferred before
		{time.Second, "h", true, false, 15},
		{239 * time.Minute, "h", false, true, 15}, // the slowest retry
	} {
		c.Add(step.after)
		deferred, returned := arrive(t, db, 1, step.envelope, 5)
		count := db.Judge(bloomdbtest.Message(1)).Count
		if deferred != step.deferred || returned != step.returned || count != step.count {
			t.Errorf("step %d, %s: deferred %v, returned %v, count %d; want %+v", i, step.envelope, deferred, returned, count, step)
		}
	}
}

// A message is never deferred if it is listed, on the never-list, rare or without a count, or
// if greylisting or the burst counter is disabled.
func TestGreylistNever(t *testing.T) {
	c := bloomdbtest.NewClock()
	plain := bloomdbtest.Options(t.TempDir(), "mx1")
	plain.Now = c.Now
	for _, tc := range []struct {
		name     string
		options  bloomdb.Options
		from     uint64
		prepare  func(db *bloomdb.DB)
		deferred bool
	}{
		{"often seen", burstOptions(t, c), 10, func(*bloomdb.DB) {}, true},
		{"listed", burstOptions(t, c), 10, func(db *bloomdb.DB) { bloomdbtest.Report(t, db, 1) }, false},
		{"never-listed", burstOptions(t, c), 10, func(db *bloomdb.DB) {
			if _, err := db.Never(bloomdbtest.Message(1), ""); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"seldom", burstOptions(t, c), 12, func(*bloomdb.DB) {}, false},
		{"long ago", burstOptions(t, c), 10, func(*bloomdb.DB) { c.Add(13 * time.Minute) }, false},
		{"from 0", burstOptions(t, c), 0, func(*bloomdb.DB) {}, false},
		{"no burst counter", plain, 10, func(*bloomdb.DB) {}, false},
	} {
		db := bloomdbtest.Open(t, tc.options)
		bloomdbtest.Count(t, db, 1, 10)
		tc.prepare(db)
		if deferred, _ := arrive(t, db, 1, "a", tc.from); deferred != tc.deferred {
			t.Errorf("%s: deferred %v", tc.name, deferred)
		}
		if s := db.Status(); (s.Greylist != nil) != tc.deferred {
			t.Errorf("%s: memory was taken for deferred messages: %v", tc.name, s.Greylist != nil)
		}
	}
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 10)
	set := bloomdbtest.Message(1)
	e := db.Judge(set)
	few := e
	few.Count = 4 // the lower of the two counters is right
	if db.Defer(set, few, "s", []string{"a"}, 5) {
		t.Error("a message counted four times is deferred with a threshold of five")
	}
	if set.Counting = nil; db.Defer(set, e, "s", []string{"a"}, 5) {
		t.Error("a message without a counting signature is deferred")
	}
}

// Another text, sender or recipient makes another tuple.
func TestGreylistTuple(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	for n := range 3 {
		bloomdbtest.Count(t, db, n, 10)
		for _, recipient := range []string{"a", "b", "ab", ""} {
			if deferred, returned := arrive(t, db, n, recipient, 5); !deferred || returned {
				t.Errorf("message %d to %q: deferred %v, returned %v", n, recipient, deferred, returned)
			}
		}
	}
	set := bloomdbtest.Message(1)
	for _, other := range [][2]string{{"S", "a"}, {"", "a"}, {"", "sa"}, {"sa", ""}} {
		if to := []string{other[1]}; db.Returned(set, other[0], to) || !db.Defer(set, db.Judge(set), other[0], to, 5) {
			t.Errorf("message from %q to %q is known", other[0], other[1])
		}
	}
	if _, returned := arrive(t, db, 1, "ab", 5); !returned {
		t.Error("its retry is not known")
	}
	if db.Returned(set, "s", nil) || db.Defer(set, db.Judge(set), "s", nil, 5) {
		t.Error("a message without recipients is deferred or known")
	}
}

// However the recipients are grouped in a retry, none is deferred twice, and one copy for each
// is not counted.
func TestGreylistRegrouped(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 10)
	for i, step := range []struct {
		envelope           string
		deferred, returned bool
	}{
		{"a b c d", true, false},
		{"b", false, true},
		{"d c", false, true},
		{"c a", false, false}, // one of them has retried before
		{"a", false, true},
		{"e e", true, false},
		{"e", false, true},
		{"f", true, false},
		{"g", true, false},
		{"h f g", false, false}, // passes in case of doubt, and is not recorded
		{"f g", false, true},
		{"h", true, false},
	} {
		if deferred, returned := arrive(t, db, 1, step.envelope, 5); deferred != step.deferred || returned != step.returned {
			t.Errorf("step %d, %s: deferred %v, returned %v", i, step.envelope, deferred, returned)
		}
	}
}

// The room for a message to many recipients is bounded. A message that exceeds it, or does not
// fit as a whole, passes, and none of its tuples is recorded.
func TestGreylistMany(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 10)
	letter := func(n, recipients int) (envelope, last string) {
		for i := range recipients {
			last = fmt.Sprintf("%d.%d", n, i)
			envelope += " " + last
		}
		return envelope[1:], last
	}
	tooMany, one := letter(-1, recent.MaxRecipients+1)
	if deferred, _ := arrive(t, db, 1, tooMany, 5); deferred {
		t.Errorf("deferred for %d recipients", recent.MaxRecipients+1)
	}
	if deferred, returned := arrive(t, db, 1, one, 5); !deferred || returned {
		t.Errorf("one of them: deferred %v, returned %v", deferred, returned)
	}
	for n := range 100 {
		all, last := letter(n, recent.MaxRecipients)
		if deferred, _ := arrive(t, db, 1, all, 5); deferred {
			if _, returned := arrive(t, db, 1, last, 5); !returned {
				t.Fatalf("letter %d: the last recipient's retry is not known", n)
			}
			continue
		}
		if _, returned := arrive(t, db, 1, last, 5); returned || n < 1000/recent.MaxRecipients {
			t.Errorf("full at letter %d; a part of it is recorded: %v", n, returned)
		}
		return
	}
	t.Error("the ring is never full")
}

// When a sub-window is full, mail passes and every copy counts.
func TestGreylistFull(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 10)
	arrive(t, db, 1, "waits", 5)
	deferred, n := true, 0
	for ; deferred; n++ {
		if n > 10_000 {
			t.Fatal("the ring accepted five times its capacity")
		}
		deferred, _ = arrive(t, db, 1, fmt.Sprint(n), 5)
	}
	if n < 1000 {
		t.Errorf("full after %d tuples, capacity 1000", n)
	}
	if s := db.Status().Greylist; s == nil || !s.Missed || s.Fill > 0.5 || s.Fill < 0.49 || s.Window != 4*3600 || s.Memory != db.Greylist().Made().Bytes() {
		t.Errorf("status %+v", s)
	}
	before := db.Judge(bloomdbtest.Message(1)).Count
	if deferred, returned := arrive(t, db, 1, "waits", 5); deferred || returned {
		t.Errorf("deferred %v, returned %v: it cannot be recorded", deferred, returned)
	}
	if count := db.Judge(bloomdbtest.Message(1)).Count; count != before+1 {
		t.Errorf("count %d after %d: uncounted copies could be sent without limit", count, before)
	}
	c.Add(48 * time.Minute)
	bloomdbtest.Count(t, db, 1, 10)
	if _, returned := arrive(t, db, 1, "waits", 5); !returned {
		t.Error("in the next sub-window the retry is not known")
	}
}

func TestGreylistAfterRestart(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := burstOptions(t, c)
	db := bloomdbtest.Open(t, o)
	bloomdbtest.Count(t, db, 1, 10)
	if deferred, _ := arrive(t, db, 1, "a", 5); !deferred {
		t.Fatal("not deferred")
	}
	testenv.Check(t, db.Close())
	db = bloomdbtest.Open(t, o)
	if deferred, returned := arrive(t, db, 1, "a", 5); deferred || returned {
		t.Errorf("deferred %v, returned %v: the burst counter is empty after a start", deferred, returned)
	}
}

// TestGreylistParallel: when copies of one tuple arrive at the same time, only one is deferred.
// When retries arrive at the same time, only one of them is not counted.
func TestGreylistParallel(t *testing.T) {
	c := bloomdbtest.NewClock()
	db := bloomdbtest.Open(t, burstOptions(t, c))
	bloomdbtest.Count(t, db, 1, 10)
	set := bloomdbtest.Message(1)
	e := db.Judge(set)
	for _, ask := range []func() bool{
		func() bool { return db.Defer(set, e, "s", []string{"a"}, 5) },
		func() bool { return db.Returned(set, "s", []string{"a"}) },
	} {
		var wg sync.WaitGroup
		var yes atomic.Int64
		for range 4 {
			wg.Go(func() {
				for range 50 {
					if ask() {
						yes.Add(1)
					}
					db.Status()
				}
			})
		}
		wg.Wait()
		if yes.Load() != 1 {
			t.Errorf("%d of 200 were, want 1", yes.Load())
		}
	}
}

// greylistModel records the exact time of every message.
type greylistModel struct {
	c        *bloomdbtest.Clock
	seen     map[int][]time.Time  // sightings of a message
	deferred map[string]time.Time // by message and recipient
	returned map[string]time.Time
}

// ages returns the smallest and the largest time since the tuples of a message were recorded.
func (m *greylistModel) ages(of map[string]time.Time, n int, recipients []string) (least, most time.Duration) {
	least = 1000 * time.Hour
	for _, r := range recipients {
		age := m.age(of, fmt.Sprint(n, r))
		least, most = min(least, age), max(most, age)
	}
	return least, most
}

// within returns the number of times within a duration before now.
func (m *greylistModel) within(n int, ago time.Duration) (count int) {
	for _, at := range m.seen[n] {
		if m.c.Now().Sub(at) < ago {
			count++
		}
	}
	return count
}

func (m *greylistModel) age(of map[string]time.Time, tuple string) time.Duration {
	at, ok := of[tuple]
	if !ok {
		return 1000 * time.Hour
	}
	return m.c.Now().Sub(at)
}

// In a model, with almost empty filters: a message is deferred if it was seen often in the
// window. No recipient is deferred twice in four hours, however they are grouped, and only the
// first retry is not counted. At the edges of the windows either answer is right, and the burst
// counter may be one too high.
func TestGreylistModel(t *testing.T) {
	c := bloomdbtest.NewClock()
	o := bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	o.Counts = layout.CountOptions{Period: time.Hour, Keep: 3, Capacity: 500_000, Burst: 10 * time.Minute}
	db := bloomdbtest.Open(t, o)
	next := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := &greylistModel{c: c, seen: make(map[int][]time.Time), deferred: make(map[string]time.Time), returned: make(map[string]time.Time)}
		next += 3 // messages used in no other round
		const from, longest = 5, 4*time.Hour + 48*time.Minute
		listed, never := next+1, next+2
		bloomdbtest.Report(t, db, listed)
		if _, err := db.Never(bloomdbtest.Message(never), ""); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 80).Draw(rt, "arrivals") {
			if rapid.IntRange(0, 3).Draw(rt, "wait") == 0 {
				c.Add(time.Duration(rapid.SampledFrom([]int{1, 60, 900, 7200, 14300, 18000}).Draw(rt, "seconds")) * time.Second)
			}
			n := next + rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(rt, "message")
			to := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 4, rapid.ID).Draw(rt, "recipients")
			message := fmt.Sprint(n, to)
			deferred, returned := arrive(t, db, n, strings.Join(to, " "), from)
			latest, since := m.ages(m.deferred, n, to)
			back, _ := m.ages(m.returned, n, to)
			switch {
			case returned && (since >= longest || back < 4*time.Hour):
				rt.Fatalf("%s: called a retry; deferred %s ago, came back %s ago", message, since, back)
			case !returned && since < 4*time.Hour && back >= longest:
				rt.Fatalf("%s: counted, a retry %s after it was deferred", message, since)
			case !returned:
				m.seen[n] = append(m.seen[n], c.Now())
			}
			if deferred && (n == listed || n == never || m.within(n, 12*time.Minute) < from-1 || latest < 4*time.Hour) {
				rt.Fatalf("%s: deferred; seen %d times, one of them deferred %s ago", message, m.within(n, 12*time.Minute), latest)
			}
			if !deferred && n == next && m.within(n, 10*time.Minute) >= from && latest >= longest {
				rt.Fatalf("%s: not deferred; seen %d times, deferred %s ago", message, m.within(n, 10*time.Minute), latest)
			}
			for _, r := range to {
				if returned {
					m.returned[fmt.Sprint(n, r)] = c.Now()
				}
				if deferred {
					m.deferred[fmt.Sprint(n, r)] = c.Now()
				}
			}
		}
		c.Add(5 * time.Hour)
		for range layout.KeepExpired {
			db.Maintain()
		}
	})
}

// At the planned load for a whole window, a few new tuples pass without being deferred, because
// the ring finds them by mistake or has no room. The test bounds their number.
func TestGreylistError(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, load := range []struct{ planned, most float64 }{{0.5, 1e-4}, {1, 2e-3}} {
		c := bloomdbtest.NewClock()
		o := bloomdb.Options{Dir: "x", Site: "mx1", Now: c.Now}
		layout.SetDefaults(&o.Reports, &o.Counts, &o.Domains)
		ring := startRing(t, o)
		tuples := load.planned * float64(o.Counts.Capacity) / recent.GreylistShare
		inStep := int(tuples * float64(recent.GreylistWindow/recent.Steps) / float64(o.Counts.Period))
		passed, last := 0, 0
		for range recent.Kept {
			last = 0
			for range inStep {
				deferred, returned := randomHash(r), randomHash(r)
				num := ring.Number(c.Now())
				if ring.Count([]filter.Hash{deferred}, num) > 0 || !ring.Take([]filter.Hash{deferred}, num) {
					last++
				}
				ring.Take([]filter.Hash{returned}, num)
			}
			passed += last
			c.Add(recent.GreylistWindow / recent.Steps)
		}
		share := float64(last) / float64(inStep)
		t.Logf("load %g: %d tuples in 48 minutes, %.2f MiB, %.5f of the new ones pass at the window's end, %d in all",
			load.planned, inStep, float64(ring.Bytes())/(1<<20), share, passed)
		if share > load.most {
			t.Errorf("load %g: %g of the new tuples pass undeferred", load.planned, share)
		}
	}
}

func startRing(t testing.TB, o bloomdb.Options) *recent.Counter {
	t.Helper()
	ring := new(recent.Greylist).Start(bloomdbtest.Settings(o))
	if ring == nil {
		t.Fatal("no ring was created")
	}
	return ring
}

// With any options, the ring can be created and stays small.
func TestGreylistShape(t *testing.T) {
	for _, o := range []bloomdb.Options{
		{Counts: layout.CountOptions{Capacity: 1}},
		{Counts: layout.CountOptions{Capacity: 20_000_000, Burst: 10 * time.Minute}},
		{Counts: layout.CountOptions{Capacity: layout.MaxCounted, Period: time.Second}},
	} {
		o.Dir, o.Site = "x", "mx1"
		layout.SetDefaults(&o.Reports, &o.Counts, &o.Domains)
		shape := recent.GreylistShape(bloomdbtest.Settings(o))
		if err := shape.Valid(); err != nil {
			t.Errorf("%+v: %v", o.Counts, err)
		}
		size := recent.Kept * shape.Bytes()
		t.Logf("capacity %d in %s: %.2f MiB", o.Counts.Capacity, o.Counts.Period, float64(size)/(1<<20))
		if size > 100<<20 {
			t.Errorf("%+v: %d MiB", o.Counts, size>>20)
		}
	}
}
