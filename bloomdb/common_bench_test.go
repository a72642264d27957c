package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/signature"
)

// threadTime returns the processor time of this thread.
func threadTime(tb testing.TB) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// BenchmarkJudgeCommonness judges messages in turn in a database that learns what is common and in
// one that does not, both with filters at their planned load, for 100,000 reports. What was learned
// fills a quarter of the set. "ratio" is the median of the ratios of 16 judgements each, in processor time of one thread.
func BenchmarkJudgeCommonness(b *testing.B) {
	dbs := [2]*bloomdb.DB{sketchBench(b, true, layout.ReportOptions{Capacity: 100_000, NoCommonness: true}), sketchBench(b, true, layout.ReportOptions{Capacity: 100_000})}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2_000_000 / 132 {
		learnRandom(dbs[1], r, i)
	}
	for n := range 64 {
		for _, db := range dbs {
			mustReportSet(b, db, wordy(n, words(1_000_000*(n+1), 100)...))
		}
	}
	sender := bloomdb.Sender{From: "shop.example"}
	for _, c := range []struct {
		name string
		set  func(n int) signature.Set
	}{
		{"no match, words=0", func(n int) signature.Set { return bloomdbtest.Message(1_000_000 + n) }},
		{"no match, words=50", func(n int) signature.Set { return wordy(1000+n, words(100_000_000+1000*n, 50)...) }},
		{"no match, words=300", func(n int) signature.Set { return wordy(2000+n, words(200_000_000+1000*n, 300)...) }},
		{"match of a sketch, words=100", func(n int) signature.Set { return wordy(3000+n, words(1_000_000*(n+1)+10, 100)...) }},
	} {
		sets := make([]signature.Set, 64)
		for n := range sets {
			sets[n] = c.set(n)
		}
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var took [2][]time.Duration
			var ratios []float64
			for n := range b.N {
				for i := range dbs {
					at := (i + n) % 2 // each is first half of the time
					begin := threadTime(b)
					for k := range 16 {
						dbs[at].JudgeFrom(sets[(16*n+k)%len(sets)], sender)
					}
					took[at] = append(took[at], (threadTime(b)-begin)/16)
				}
				ratios = append(ratios, float64(took[1][n])/float64(took[0][n]))
			}
			for i, name := range []string{"us-off", "us-on"} {
				slices.Sort(took[i])
				b.ReportMetric(float64(took[i][b.N/2].Nanoseconds())/1000, name)
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[b.N/2], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkJudgeWhileLearning judges messages while another goroutine learns as fast as it can, which
// makes all layers of a set, and while none does. Judging takes no lock, so the times differ by what
// the memory and the processors cost only.
func BenchmarkJudgeWhileLearning(b *testing.B) {
	for _, learns := range []bool{false, true} {
		b.Run(fmt.Sprintf("learns=%v", learns), func(b *testing.B) {
			db := sketchBench(b, true, layout.ReportOptions{Capacity: 100_000})
			stop, stopped := make(chan struct{}), make(chan []time.Duration)
			go func() {
				var took []time.Duration
				r := rand.New(rand.NewPCG(1, 2))
				for i := 0; learns; i++ {
					select {
					case <-stop:
						stopped <- took
						return
					default:
						begin := time.Now()
						learnRandom(db, r, i)
						took = append(took, time.Since(begin))
					}
				}
				stopped <- nil
			}()
			var took []time.Duration
			for n := range b.N {
				set := wordy(n, words(1000*n, 50)...)
				begin := time.Now()
				db.Judge(set)
				took = append(took, time.Since(begin))
			}
			close(stop)
			report := func(unit string, list []time.Duration) {
				if slices.Sort(list); len(list) > 0 {
					b.ReportMetric(float64(list[len(list)/2].Nanoseconds())/1000, "us-p50-"+unit)
					b.ReportMetric(float64(list[len(list)*999/1000].Nanoseconds())/1000, "us-p99.9-"+unit)
					b.ReportMetric(float64(list[len(list)-1].Nanoseconds())/1000, "us-max-"+unit)
				}
			}
			report("judge", took)
			report("learn", <-stopped)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// learnRandom learns a message of 128 features that no other has.
func learnRandom(db *bloomdb.DB, r *rand.Rand, n int) {
	m := commonness.Mail{Sender: fmt.Sprintf("sender%d.example", n), Message: uint64(n), At: db.Now()}
	for range 128 {
		m.Features = append(m.Features, filter.Mix(r.Uint64()))
	}
	db.Keyspace().Common.Learn(m)
}
