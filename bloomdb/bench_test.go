package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/recent"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

var randomHash = filtertest.Hash

// BenchmarkJudge judges messages of two signatures, one of them counted, with a current spam
// filter of 1 GiB.
func BenchmarkJudge(b *testing.B) {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Reports = layout.ReportOptions{Capacity: 12_700_000, Keep: 1}
	o.Counts.Capacity = 20_000_000
	db := bloomdbtest.Open(b, o)
	own := ownBits(b, db, current(db, layout.SpamFilter))
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000_000 {
		own.SetCells([]filter.Cell{{Pos: r.Uint64N(own.Shape().Size()), Value: 1}})
	}
	for n := range 1000 {
		bloomdbtest.Report(b, db, n)
		bloomdbtest.Count(b, db, n, 30)
	}
	b.Logf("spam filter: %d MiB", own.Shape().Bytes()>>20)
	for _, tc := range []struct {
		name string
		n    int
	}{{"unknown", 1_000_000}, {"listed", 1000}} {
		sets := make([]signature.Set, min(tc.n, 1<<14))
		for i := range sets {
			n := i % tc.n
			if tc.name == "unknown" {
				n += 10_000_000
			}
			sets[i] = bloomdbtest.Message(n)
		}
		b.Run(tc.name, func(b *testing.B) {
			for i := range b.N {
				if db.Judge(sets[i%len(sets)]).Listed != (tc.name == "listed") {
					b.Fatal("wrong verdict")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/signature")
		})
	}
}

func BenchmarkReport(b *testing.B) {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Reports.Capacity = 10_000_000
	db := bloomdbtest.Open(b, o)
	b.Run("one", func(b *testing.B) {
		for n := range b.N {
			bloomdbtest.Report(b, db, n)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
			for pb.Next() {
				bloomdbtest.Report(b, db, r.Int())
			}
		})
	})
}

// BenchmarkCount counts a message, with and without the burst counter. The clock does not move,
// so the counter's filter becomes half full: that is its largest cost. The periodic work, of each
// second in a daemon, comes after 100,000 counts: the journal takes some more in memory.
func BenchmarkCount(b *testing.B) {
	for _, window := range []time.Duration{0, 10 * time.Minute} {
		b.Run(fmt.Sprintf("burst=%s", window), func(b *testing.B) {
			o := bloomdbtest.Options(b.TempDir(), "mx1")
			o.Counts.Capacity, o.Counts.Burst = 20_000_000, window
			o.Exchange = false
			db := bloomdbtest.Open(b, o)
			r := rand.New(rand.NewPCG(1, 2))
			b.ResetTimer()
			for i := range b.N {
				if bloomdbtest.Count(b, db, r.IntN(1<<20), 1); i%100_000 == 0 {
					testenv.Check(b, db.Maintain())
				}
			}
		})
	}
}

// BenchmarkBurst counts one sighting in the burst counter alone, of a new message and of one
// that was seen before.
func BenchmarkBurst(b *testing.B) {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Counts.Capacity, o.Counts.Burst = 20_000_000, 10*time.Minute
	r := rand.New(rand.NewPCG(1, 2))
	for name, again := range map[string]bool{"new": false, "seen 20 times": true} {
		b.Run(name, func(b *testing.B) {
			now, h := o.Now(), randomHash(r)
			c, err := recent.New(bloomdbtest.Settings(o))
			testenv.Check(b, err)
			for i := range b.N {
				if !again || i%20 == 0 {
					h = randomHash(r)
				}
				if i%100_000 == 0 {
					now = now.Add(2 * time.Minute)
				}
				c.Add(h, 1, now)
			}
		})
	}
}

// BenchmarkResident fills a database of the default size to its capacity: a million reported
// messages of 8 keys over five generations, an eighth of them revoked, and 20 million counted
// messages in each of two periods. It also fills a filter of 32 million near-duplicate keys at
// an error of 1e-3. Resident memory is the kernel's figure.
func BenchmarkResident(b *testing.B) {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Reports, o.Counts, o.Exchange = layout.ReportOptions{}, layout.CountOptions{}, false
	db, err := bloomdbtest.TryOpen(o)
	testenv.Check(b, err)
	b.ReportMetric(residentMB(b), "MB-start")
	r := rand.New(rand.NewPCG(1, 2))
	now := db.Now()
	for gen := range bloomdbtest.SettingsOf(db).Reports.Keep {
		t := layout.Target{Kind: layout.SpamFilter, Gen: bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, now) - int64(gen)}
		for kind, keys := range map[layout.Kind]int{layout.SpamFilter: 1_600_000, layout.RevokedFilter: 200_000} {
			t.Kind = kind
			own := ownBits(b, db, t)
			for range keys {
				own.Set(randomHash(r))
			}
		}
	}
	for gen := range bloomdbtest.SettingsOf(db).Counts.Keep {
		own, err := db.Keyspace().Store.OwnCounts(bloomdbtest.SettingsOf(db).Generation(layout.CountFilter, now) - int64(gen))
		testenv.Check(b, err)
		for range 20_000_000 {
			n := uint32(1)
			if r.IntN(100) >= 85 { // 85 % of messages are seen once, the others more often (heavy tail)
				n = uint32(min(2/(1-r.Float64()), 10_000))
			}
			own.Add(randomHash(r), n)
		}
	}
	b.ReportMetric(residentMB(b), "MB-full")
	s := db.Status()
	b.ReportMetric(s.ErrorPerMail*1e6, "error-per-mail-1e-6")
	near, err := filter.NewBits(filter.SizeBits(32_000_000, 1e-3, 8))
	testenv.Check(b, err)
	for range 32_000_000 {
		near.Set(randomHash(r))
	}
	b.ReportMetric(residentMB(b), "MB-full-with-near-keys")
	b.ReportMetric(0, "ns/op")
	crash(b, db)
}

func residentMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	testenv.Check(b, err)
	return float64(kb) / 1024
}
