package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// BenchmarkJudgeSites judges messages that no site has seen, and some that all sites have
// counted, with a number of other sites. Each has a part of the counts of two periods, with
// 1/rank of the largest site's mail. A site's filter is sized for its counts. The difference
// from no other site is the cost of parts for each mail. CPU time is that of this process, so
// that other work on the machine matters less.
func BenchmarkJudgeSites(b *testing.B) {
	const largest = 200_000 // distinct messages a period
	for _, sites := range []int{0, 10, 100} {
		o := bloomdbtest.Options(b.TempDir(), "mx1")
		o.Counts.Capacity = largest
		db := bloomdbtest.Open(b, o)
		r := rand.New(rand.NewPCG(1, 2))
		for rank := 1; rank <= sites; rank++ {
			for gen := range bloomdbtest.SettingsOf(db).Counts.Keep {
				fillCounts(b, db, r, rank, int64(gen), largest/rank)
			}
		}
		b.Run(fmt.Sprintf("sites=%d/absent", sites), func(b *testing.B) {
			defer reportCPU(b, bloomdbtest.CPUTime(b))
			for i := range b.N {
				db.Judge(bloomdbtest.Message(1_000_000 + i))
			}
		})
		b.Run(fmt.Sprintf("sites=%d/everywhere", sites), func(b *testing.B) {
			defer reportCPU(b, bloomdbtest.CPUTime(b))
			for i := range b.N {
				if n := db.Judge(bloomdbtest.Message(i % counted100)).Count; n < uint64(2*sites) {
					b.Fatalf("count %d at %d sites", n, sites)
				}
			}
		})
	}
}

func reportCPU(b *testing.B, begin time.Duration) {
	b.ReportMetric(float64(bloomdbtest.CPUTime(b)-begin)/float64(b.N)/1000, "cpu-us/op")
}

// counted100 are messages that all sites have counted.
const counted100 = 100

// fillCounts adds messages to a site's part of a counting generation. The first ones are those
// that all sites have counted.
func fillCounts(b *testing.B, db *bloomdb.DB, r *rand.Rand, rank int, gen int64, messages int) {
	own, err := filter.NewCounts(filter.SizeCounts(float64(messages)))
	testenv.Check(b, err)
	for n := range messages {
		h := randomHash(r)
		if n < counted100 {
			h = bloomdbtest.Ring.CountHash(bloomdbtest.Message(n).Counting[0])
		}
		own.Add(h, 1)
	}
	shape := layout.CountsShape(own.Shape())
	t := layout.Target{Kind: layout.CountFilter, Gen: bloomdbtest.SettingsOf(db).Generation(layout.CountFilter, db.Now()) - gen}
	p := partOf(b, db, fmt.Sprintf("site%d", rank), t, shape)
	var cells []filter.Cell
	for i := range filter.Blocks(own.Shape().Size(), true) {
		if cells = own.Block(i, cells[:0]); len(cells) > 0 {
			testenv.Check(b, p.Merge(cells))
		}
	}
}
