package recent

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// began is the time at which the tests begin. No sub-window begins then.
var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newCounter(t *testing.T, now time.Time, counts layout.CountOptions) *Counter {
	t.Helper()
	counts.Period, counts.Keep = 24*time.Hour, 2
	b, err := New(&layout.Settings{Counts: counts, Now: func() time.Time { return now }})
	testenv.Check(t, err)
	return b
}

// halfFull fills the current sub-window with mostly new mail, and mixes in probes: each adds
// one sighting of the next one. The probes begin and end at the given shares of the time.
func halfFull(t *testing.T, r *rand.Rand, b *Counter, now time.Time, probes []filter.Hash, from, to float64) {
	t.Helper()
	all := 0.95 * float64(b.shape.M) * math.Ln2 / burstK // about as many others as fit
	others, done := 0.0, 0
	for ; b.Status(now).Fill < 0.499; others++ {
		b.Add(filtertest.Hash(r), 1, now)
		for ; done < len(probes) && others/all >= from+(to-from)*float64(done)/float64(len(probes)); done++ {
			b.Add(probes[done], 1, now)
		}
	}
	if done < len(probes) {
		t.Fatalf("%d sightings did not come", len(probes)-done)
	}
}

// The mean error of a count in a half full filter, for sightings that are evenly distributed,
// and for sightings at the beginning or the end.
func TestBurstError(t *testing.T) {
	const each = 100
	r := rand.New(rand.NewPCG(1, 2))
	for _, when := range []struct {
		from, to, least, most float64
	}{
		{0, 0.9, 0.9, 1.1},
		{0, 0.05, 0.7, 0.8},
		{0.9, 0.95, 1.1, 1.4},
	} {
		now := began
		b := newCounter(t, now, layout.CountOptions{Capacity: 10_000_000, Burst: 10 * time.Minute})
		counts := []int{1, 2, 5, 10, 20, 30}
		keys := make([][]filter.Hash, len(counts))
		var probes []filter.Hash
		for i, count := range counts {
			for range each {
				h := filtertest.Hash(r)
				keys[i] = append(keys[i], h)
				for range count {
					probes = append(probes, h)
				}
			}
		}
		r.Shuffle(len(probes), func(i, j int) { probes[i], probes[j] = probes[j], probes[i] })
		halfFull(t, r, b, now, probes, when.from, when.to)
		for i, count := range counts {
			sum := 0.0
			for _, h := range keys[i] {
				sum += float64(b.Ask(h, now).Count)
			}
			mean := sum / each
			t.Logf("seen %d times between %.2f and %.2f: reads %.2f in the mean", count, when.from, when.to, mean)
			if mean < when.least*float64(count)-0.5 || mean > when.most*float64(count)+0.7 {
				t.Errorf("seen %d times between %.2f and %.2f: reads %.2f in the mean", count, when.from, when.to, mean)
			}
		}
		found := 0.0
		const strangers = 20_000
		for range strangers {
			if b.Ask(filtertest.Hash(r), now).Count > 0 {
				found++
			}
		}
		if want := strangers / 256.0; math.Abs(found-want) > 4*math.Sqrt(want) {
			t.Errorf("%g of %d strangers read as seen, want %.0f", found, strangers, want)
		}
	}
}

func r0(a, b int) uint64 { return rand.New(rand.NewPCG(uint64(a), uint64(b))).Uint64() }

// In a model, with almost empty filters: each sub-window may differ by 2 and 5 %.
func TestBurstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := began
		const window = 5 * time.Minute
		b := newCounter(t, now, layout.CountOptions{Capacity: 50_000_000, Burst: window})
		type sighting struct {
			key int
			num int64
		}
		seen := make(map[sighting]uint32)
		start := now
		key := func(n int) filter.Hash { return filter.Hash{r0(n, 1), r0(n, 2), r0(n, 3), r0(n, 4)} }
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "later") {
				now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(rt, "seconds")) * time.Second)
			}
			n, times := rapid.IntRange(0, 9).Draw(rt, "key"), rapid.Uint32Range(1, 12).Draw(rt, "times")
			b.Add(key(n), times, now)
			seen[sighting{key: n, num: b.Number(now)}] += times
			for n := range 11 {
				want, most, windows := 0.0, false, 0.0
				for s, times := range seen {
					if s.key == n && s.num > b.Number(now)-Kept {
						want += math.Min(float64(times), walk)
						most = most || times > walk+1
						windows++
					}
				}
				got := b.Ask(key(n), now)
				if math.Abs(float64(got.Count)-want) > 2*windows+0.05*want || got.Missed || most && !got.AtLeast {
					rt.Fatalf("key %d: %+v, want %g", n, got, want)
				}
				if got.Covers > now.Sub(start) || got.Covers > window*6/5 {
					rt.Fatalf("covers %s of %s", got.Covers, now.Sub(start))
				}
			}
		}
	})
}
